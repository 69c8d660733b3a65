// Keys in skp: secrets, tables, questions, lost answers, imports.

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { newKey, relay, user } from '../../../tests/skp.ts'

test('a new secret stands alone on stdout, in a file of its own, or in the JSON', async () => {
  const { home, skp, done } = user(await shop())
  const create = ['keys', 'create', 'Checkout', '--type', 'prod', '--permission', 'READ,WRITE']
  const { out, err } = await done([...create, '--expires', '90d', '--rate-limit', '100/m', '--ip', '10.0.0.0/8'])
  expect(out).toMatch(/^skp_prod_\w+\n$/)
  expect(err).toMatch(/^Created "Checkout" \(key_\w+, skp_prod_\w+…\)\. The secret is not shown again\.\n$/)
  const [, id = ''] = /\((key_\w+),/.exec(err) ?? []
  const shown = JSON.parse((await done(['keys', 'show', id, '--json'])).out)
  expect(shown).toMatchObject({
    permissions: ['READ', 'WRITE'],
    rateLimit: { limit: 100, windowSeconds: 60 },
    ipAllowlist: ['10.0.0.0/8'],
  })
  expect(Date.parse(shown.expiresAt) - Date.now()).toBeGreaterThan(89 * 86_400_000)

  expect(JSON.parse((await done([...create, '--json'])).out)).toMatchObject({
    key: expect.any(String),
    name: 'Checkout',
  })
  const kept = await done([...create, '--to', 'new.key', '--json'])
  expect(JSON.parse(kept.out)).not.toHaveProperty('key')
  expect(readFileSync(join(home, 'new.key'), 'utf8')).toMatch(/^skp_prod_\w+\n$/)
  expect(statSync(join(home, 'new.key')).mode & 0o777).toBe(0o600)
  const count = (await done(['keys', '--all'])).lines.length
  expect(await skp([...create, '--to', 'new.key'])).toMatchObject({ code: 2, out: '' })
  expect(await skp([...create, '--to', 'refused.key', '--permission', 'NO_SUCH'])).toMatchObject({ code: 2, out: '' })
  expect(existsSync(join(home, 'refused.key'))).toBe(false)
  expect((await done(['keys', '--all'])).lines).toHaveLength(count)
  // Others would see it among the processes.
  const leaked = await skp(['keys', 'show', out.trim()])
  expect(leaked).toMatchObject({ code: 2, out: '', err: expect.stringContaining('never an argument') })
  expect(leaked.err).not.toContain(out.trim())
})

test('tables are for people, tabs for programs, and what a name contains does nothing to a terminal', async () => {
  const world = await shop()
  const { done } = user(world)
  for (const name of ['少し長い名前', 'Second'])
    await done(['keys', 'create', name, '--type', 'TEST', '--permission', 'READ'])
  // The value of an option may begin with a dash, as cursors do now and then.
  expect((await done(['keys', 'list', '--search', '-Second'])).lines).toEqual([])
  const piped = await done(['keys', 'list'])
  expect(piped.lines.map((line) => line.split('\t').length)).toEqual([7, 7])
  expect(piped.out).not.toContain('\x1b')
  const table = await done(['keys', 'list'], { columns: 200 })
  expect(table.lines[0]).toMatch(/^\x1b\[1mID\x1b\[0m +\x1b\[1mSTATUS/)
  expect(table.lines[1]).toContain('\x1b[32mACTIVE\x1b[0m')
  const bare = await done(['keys', 'list'], { columns: 200, env: { NO_COLOR: '1' } })
  expect(bare.out).not.toContain('\x1b')
  const column = (bare.lines[0] as string).indexOf('NAME')
  expect(bare.lines.slice(1).map((line) => line.slice(column))).toEqual(['Second', '少し長い名前'])
  const narrow = await done(['keys', 'list'], { columns: column + 5, env: { NO_COLOR: '1' } })
  expect(narrow.lines.slice(1).map((line) => line.slice(column))).toEqual(['Second', '少し長…'])

  const page = await done(['keys', 'list', '--limit', '1'])
  const [, cursor = ''] = /--cursor (\S+)/.exec(page.err) ?? []
  expect((await done(['keys', 'list', '--limit', '1', '--cursor', cursor])).lines).toHaveLength(1)
  expect(JSON.parse((await done(['keys', '--limit', '1', '--json'])).out)).toMatchObject({ nextCursor: cursor })
  const all = (await done(['keys', '--all', '--limit', '1', '--json'])).lines.map((line) => JSON.parse(line).name)
  expect(all).toEqual(['Second', '少し長い名前'])
})

test('what cannot be undone is asked for, and nobody is asked who cannot answer', async () => {
  const { skp, done } = user(await shop())
  const { key, id } = await newKey(done)
  const before = await done(['keys', 'show', id, '--etag'])
  for (const argv of [
    ['keys', 'rotate', id],
    ['keys', 'revoke', id],
    ['keys', 'freeze'],
    ['keys', 'bulk', 'revoke', id],
  ]) {
    expect(await skp(argv)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--yes') })
    expect(await skp(argv, { answers: [''] })).toMatchObject({ code: 1, out: '', err: 'Nothing was done.\n' })
  }
  expect((await done(['keys', 'show', id, '--etag'])).out).toBe(before.out)

  const rotated = await done(['keys', 'rotate', id, '--grace', '24h'], { answers: ['y'] })
  expect(rotated.asked[0]?.question).toMatch(
    /^Rotate "Robot" \(key_\w+, skp_test_\w+…\)\? The old secret works for 86400 s/,
  )
  expect(rotated.out).toMatch(/^skp_test_\w+\n$/)
  expect(rotated.out.trim()).not.toBe(key)
  expect(rotated.err).toContain(`Who still uses it: skp keys usage ${id}`)
  expect(await skp(['keys', 'update', id, '--name', 'X', '--if-match', before.out.trim()])).toMatchObject({ code: 6 })
  expect((await done(['keys', 'update', id, '--name', 'Y', '--disable', '--expires', 'never'])).lines).toContain(
    'status\tDISABLED',
  )
  expect((await skp(['keys', 'update', id])).code).toBe(2)

  expect((await done(['keys', 'freeze', '--yes'])).err).toMatch(/^\d+ keys are frozen/)
  expect((await done(['keys', 'unfreeze'])).code).toBe(0)
  const revoked = await done(['keys', 'revoke', id, '--reason', 'unused', '--yes'])
  expect(revoked).toMatchObject({ out: '', err: expect.stringMatching(/^Revoked "Y" \(key_/) })
  expect((await skp(['keys', 'rotate', id, '--yes'])).code).toBe(6)
  expect((await skp(['keys', 'show', 'key_00000000000000000000000000'])).code).toBe(5)
})

test('a lost answer leaves the command that gets the same secret', async () => {
  const world = await shop()
  let isLossy = true
  const lossy = await relay(world.api.url, (request) => isLossy && request.method === 'POST')
  const { skp } = user(world, { STOREKEEPER_URL: lossy.url })
  const create = ['keys', 'create', "Ada's key", '--type', 'PROD', '--permission', 'READ', '--expires=30d']
  const lost = await skp(create)
  expect(lost).toMatchObject({ code: 7, out: '' })
  const [, command = ''] = /^ {2}skp (.*)$/m.exec(lost.err) ?? []
  expect(command).toMatch(/^keys create 'Ada'\\''s key' .*--expires \d{4}-\S+Z --idempotency-key \S+$/)
  isLossy = false
  const words = [...command.matchAll(/'Ada'\\''s key'|\S+/g)].map(([word]) =>
    word.startsWith("'") ? "Ada's key" : word,
  )
  const again = await skp(words)
  expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/^skp_prod_\w+\n$/) })
  expect((await skp(words)).out).toBe(again.out)
  expect((await skp(['keys', '--json'])).out.match(/"id":/g)).toHaveLength(2)
})

test('Ctrl-C ends a call, and says what may have been done', async () => {
  const world = await shop()
  let press = () => {}
  const slow = await relay(world.api.url, () => {
    press()
    return 'held'
  })
  const { skp } = user(world, { STOREKEEPER_URL: slow.url })
  const argv = ['keys', 'create', 'Checkout', '--type', 'PROD', '--permission', 'READ']
  const { code, out, err } = await skp(argv, { onListen: (interrupt) => void (press = interrupt) })
  expect([code, out]).toEqual([130, ''])
  expect(err).toMatch(/skp keys create Checkout --type PROD --permission READ --idempotency-key \S+\nInterrupted\.\n$/)
})

test('keys are imported from lines, with what is wrong by line, and an import goes on where it ended', async () => {
  const { home, skp, done } = user(await shop())
  const line = (n: number) =>
    JSON.stringify({ value: `elsewhere-${n}-0123456789`, name: `K${n}`, type: 'PROD', permissions: ['READ'] })
  const lines = Array.from({ length: 450 }, (_, n) => line(n))
  lines[3] = JSON.stringify({ value: 'short', name: 'K', type: 'PROD', permissions: ['READ'] })
  writeFileSync(join(home, 'keys.jsonl'), lines.join('\n'))
  const first = await skp(['keys', 'import', 'keys.jsonl'])
  expect(first.code).toBe(1)
  expect(first.lines).toEqual([expect.stringMatching(/^line 4\t#\/value\t\w+\t/)])
  expect(first.err).toMatch(/450 lines: 449 created, 1 failed\.\n$/)
  const second = await done(['keys', 'import', '--skip', '400'], { input: lines.join('\n') })
  expect(second.err).toMatch(/50 lines: 50 exists\.\n$/)
  const broken = await skp(['keys', 'import', '-'], { input: [...lines.slice(0, 250), '{"value": "secret'].join('\n') })
  expect(broken).toMatchObject({ code: 2, err: expect.stringContaining('--skip 200\nLine 251 is not JSON') })
  expect(broken.err).not.toContain('secret')

  const revoked = await done(['keys', 'bulk', 'revoke', '--search', 'K1', '--reason', 'moved', '--yes'])
  expect(revoked.err).toMatch(/111 done\.\n$/)
  const [one = ''] = (await done(['keys', '--status', 'ACTIVE', '--limit', '1'])).lines[0]?.split('\t') ?? []
  const expired = await done(['keys', 'bulk', 'expire', '-', '--expires', '1d', '--yes', '--json'], {
    input: `${one}\n`,
  })
  expect(JSON.parse(expired.out)).toMatchObject({ id: one, status: 'done' })
  expect((await skp(['keys', 'bulk', 'revoke', '--yes'])).code).toBe(2)
  expect((await skp(['keys', 'bulk', 'explode', one, '--yes'])).code).toBe(2)
})
