// An export is checked with nothing but itself: whatever was done to it, the first event that does not fit is named.

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { useBuild } from '../../tests/built.ts'
import { call } from '../../tests/command.ts'
import { NEW_KEY, newDatabase, type Shop, shop } from '../../tests/shop.ts'
import { newFolder } from '../../tests/skp.ts'
import { operator } from '../cli/operator.ts'
import { run } from '../cli/run.ts'
import { newId } from '../core/ids.ts'
import { connect } from '../db/pool.ts'
import { canonical, genesis, nextHash } from './hash-chain.ts'
import type { SealedEvent } from './schema.ts'
import { type Anchor, exportLine, verifyChain } from './verify-export.ts'
import { newEvent, writeEvents } from './write.ts'

useBuild()

test('a chain as it was exported is sound', async () => {
  const { lines, storeId, head } = chainOf(10)
  expect(await verdictOn(lines)).toEqual({
    sound: true,
    events: 10,
    hash: head,
    chain: storeId,
    anchoredUpTo: null,
  })
  expect(await verdictOn(lines, { seq: null, hash: head })).toMatchObject({ sound: true })
  expect(await verdictOn(lines, { seq: 10, hash: head })).toMatchObject({ sound: true })
})

test('a head that was kept earlier still holds when more has happened since', async () => {
  const { lines, hashes } = chainOf(10)
  expect(await verdictOn(lines, { seq: 4, hash: hashes[3] as string })).toMatchObject({ sound: true, events: 10 })
  expect(await verdictOn(lines, { seq: 5, hash: hashes[3] as string })).toMatchObject({ sound: false })
})

test('altered: every member of every event, the hash among them', async () => {
  const { lines } = chainOf(6)
  const members = ['id', 'storeId', 'type', 'at', 'actor', 'subject', 'data', 'hash'] as const
  for (let n = 0; n < 6; n++)
    for (const member of members) {
      const event = JSON.parse(lines[n] as string)
      const others: Record<string, string> = {
        id: newId('evt'),
        storeId: newId('store'),
        hash: event.hash.replace(/./, 'x'),
      }
      const altered = { ...event, [member]: others[member] ?? 'other' }
      const verdict = await verdictOn(lines.with(n, canonical(altered)))
      // Who alters the store of the first event alters what all the others belong to.
      expect(verdict).toMatchObject({ sound: false, line: n + 1 })
      expect(String((verdict as { finding: string }).finding)).toContain(`at position ${n + 1}`)
    }
})

test('altered in its spelling: nothing that reads differently passes for the same', async () => {
  const { lines } = chainOf(3)
  const second = lines[1] as string
  const spellings = [
    ` ${second}`,
    second.replace('{"', '{"x":1,"'),
    second.replace('"type":', '"type":"key.created","type":'),
    second.replace('"data":{', '"data":{ '),
    second.slice(0, -1),
    '',
    'null',
    '{}',
  ]
  for (const spelling of spellings)
    expect(await verdictOn(lines.with(1, spelling)), spelling).toMatchObject({ sound: false, line: 2 })
})

test('an id that is none is no line of an export, whatever its hash', async () => {
  const { events } = chainOf(1)
  const lineOf = (event: object) =>
    exportLine({ ...(event as SealedEvent), hash: nextHash(genesis(String(storeIdOf(event))), event as SealedEvent) })
  const storeIdOf = (event: object) => (event as SealedEvent).storeId ?? 'system'
  expect(await verdictOn([lineOf({ ...events[0], storeId: null })])).toMatchObject({ sound: true })
  for (const wrong of [
    { id: 'evt_x' },
    { id: `${newId('evt')}\n` },
    { id: [newId('evt')] },
    { storeId: 'x' },
    { storeId: newId('key') },
    { storeId: undefined },
    { storeId: 'system' },
  ])
    expect(await verdictOn([lineOf({ ...events[0], ...wrong })]), JSON.stringify(wrong)).toEqual({
      sound: false,
      line: 1,
      finding: 'line 1 is not as the export wrote it: it was altered, or inserted',
    })
})

test('a file that is not sound cannot make a terminal say that it is', async () => {
  const { events, head } = chainOf(1)
  const folder = newFolder()
  const escapes = `x\x1b[2K\rSound: 1 events, head ${head}\x1b[8m\x9b8m\u202e`
  const files = {
    id: exportLine({ ...(events[0] as SealedEvent), id: escapes, hash: head }),
    storeId: exportLine({ ...(events[0] as SealedEvent), storeId: escapes, hash: head }),
    heads: `{"\x1b[2K\rSound: 1 events\x9b8m\u202e`,
  }
  for (const [name, line] of Object.entries(files)) writeFileSync(join(folder, name), `${line}\n`)
  const verify = (...argv: string[]) => call(run, ['events', 'verify', ...argv], { cwd: folder })
  for (const file of ['id', 'storeId'])
    expect(await verify(file)).toMatchObject({
      code: 1,
      out: '',
      err: 'Not sound: line 1 is not as the export wrote it: it was altered, or inserted (line 1).\n',
    })
  expect(await verify('id', '--heads', 'heads')).toMatchObject({
    code: 2,
    out: '',
    err: 'heads has a line that is no head: {"\\u001b[2K\\u000dSound: 1 events\\u009b8m\\u202e\n',
  })
})

test('removed: at the beginning, in the middle, several', async () => {
  const { lines } = chainOf(8)
  expect(await verdictOn(lines.slice(1))).toMatchObject({ finding: expect.stringContaining('position 1 is missing') })
  expect(await verdictOn(lines.toSpliced(3, 1))).toMatchObject({
    line: 4,
    finding: expect.stringContaining('position 4 is missing'),
  })
  expect(await verdictOn(lines.toSpliced(3, 3))).toMatchObject({
    line: 4,
    finding: expect.stringContaining('positions 4 to 6 are missing'),
  })
})

test('removed with the rest numbered anew: the first that was moved up does not match', async () => {
  const { lines } = chainOf(8)
  const renumbered = lines.toSpliced(3, 1).map((line, i) => canonical({ ...JSON.parse(line), seq: i + 1 }))
  expect(await verdictOn(renumbered)).toMatchObject({ line: 4, finding: expect.stringContaining('at position 4') })
})

test('inserted: a copy, an invention, and one of another store', async () => {
  const { lines, events, hashes } = chainOf(5)
  expect(await verdictOn(lines.toSpliced(3, 0, lines[1] as string))).toMatchObject({
    line: 4,
    finding: expect.stringContaining('inserted'),
  })
  const invented = { ...(events[3] as SealedEvent), id: newId('evt') }
  // With a hash that fits where it was put, the one that follows gives it away.
  const hash = nextHash(hashes[2] as string, invented)
  expect(await verdictOn(lines.toSpliced(3, 0, exportLine({ ...invented, hash })))).toMatchObject({
    line: 5,
    finding: expect.stringContaining('at position 4'),
  })
  expect(await verdictOn(lines.toSpliced(3, 0, chainOf(5).lines[3] as string))).toMatchObject({
    line: 4,
    finding: expect.stringContaining('belongs to another store'),
  })
})

test('swapped: two neighbours, and two whose positions were swapped too', async () => {
  const { lines } = chainOf(5)
  const [third, fourth] = [lines[2] as string, lines[3] as string]
  expect(await verdictOn(lines.toSpliced(2, 2, fourth, third))).toMatchObject({
    line: 3,
    finding: expect.stringContaining('position 3 is missing'),
  })
  const moved = [canonical({ ...JSON.parse(fourth), seq: 3 }), canonical({ ...JSON.parse(third), seq: 4 })]
  expect(await verdictOn(lines.toSpliced(2, 2, ...moved))).toMatchObject({ line: 3 })
})

test('cut off at the end: only a head can tell, and it does', async () => {
  const { lines, head } = chainOf(5)
  const cut = lines.slice(0, 3)
  expect(await verdictOn(cut)).toMatchObject({ sound: true, events: 3 })
  expect(await verdictOn(cut, { seq: null, hash: head })).toMatchObject({
    sound: false,
    finding: expect.stringContaining('ends at position 3'),
  })
  expect(await verdictOn(cut, { seq: 5, hash: head })).toMatchObject({
    finding: 'the chain ends at position 3, and a head you gave is at 5: its end was cut off',
  })
})

test('written anew: only a head can tell, and where it knows the position it names the event there', async () => {
  const { head, hashes } = chainOf(5)
  const { lines, events } = chainOf(8)
  expect(await verdictOn(lines)).toMatchObject({ sound: true })
  expect(await verdictOn(lines, { seq: null, hash: head })).toEqual({
    sound: false,
    line: 9,
    finding:
      'a head you gave is nowhere in this chain, which ends at position 8: its end was cut off, or all of it was written anew',
  })
  for (const seq of [1, 5])
    expect(await verdictOn(lines, { seq, hash: hashes[seq - 1] as string })).toEqual({
      sound: false,
      line: seq,
      finding: `event ${events[seq - 1]?.id} at position ${seq} has another hash than a head you gave: it, or what stands before it, was written anew`,
    })
})

test('written anew, and anchored again since: the heads that were kept before tell, each of them', async () => {
  const [kept, anew] = [chainOf(6), chainOf(9)]
  const heads = (chain: typeof kept, ...seqs: number[]) =>
    seqs.map((seq) => ({ seq, hash: chain.hashes[seq - 1] as string }))
  expect(await verdictOn(anew.lines, ...heads(anew, 9))).toMatchObject({ sound: true, anchoredUpTo: 9 })
  // In whatever order they are given.
  expect(await verdictOn(anew.lines, ...heads(anew, 9), ...heads(kept, 6, 3))).toMatchObject({ sound: false, line: 3 })
  expect(await verdictOn(kept.lines, ...heads(kept, 2, 5, 2))).toMatchObject({ sound: true, anchoredUpTo: 5 })
})

test('the chain of one store cannot be passed off as that of another', () => {
  expect(genesis(newId('store'))).not.toEqual(genesis(newId('store')))
})

test('the hash is what the docs say, so that anybody can compute it', () => {
  const event: SealedEvent = {
    seq: 1,
    id: 'evt_01k9wz3v5e8tvs8v4m8m3v5yqd',
    storeId: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd',
    type: 'key.created',
    at: '2026-01-02T03:04:05.678Z',
    actor: { kind: 'key', id: 'key_1', credential: null, ip: '::1' },
    subject: 'key_2',
    data: { z: [1.5, true, null], a: 'ü\n', A: {} },
  }
  expect(canonical(event)).toBe(
    '{"actor":{"credential":null,"id":"key_1","ip":"::1","kind":"key"},"at":"2026-01-02T03:04:05.678Z","data":{"A":{},"a":"ü\\n","z":[1.5,true,null]},"id":"evt_01k9wz3v5e8tvs8v4m8m3v5yqd","seq":1,"storeId":"store_01k9wz3v5e8tvs8v4m8m3v5yqd","subject":"key_2","type":"key.created"}',
  )
  // printf 'storekeeper events 1\nstore_…' | sha256sum, then printf '%s\n%s' that-hash the-text-above | sha256sum
  expect(nextHash(genesis(event.storeId as string), event)).toBe(
    'ae6cb221fb12a199a40250aa47cb5fb7055708d7ec2d21e95a9716a7e148667b',
  )
})

test('the command exports, prints the head and checks, and its exit code says what it found', async () => {
  const world = await shop({ alone: true })
  const { api, keys, owner, store } = world
  for (let n = 0; n < 3; n++) await api.post(keys, NEW_KEY, { as: owner.token })
  const folder = newFolder()
  const file = join(folder, 'events.jsonl')

  const exported = await command(world, ['export', store.id])
  expect(exported.code).toBe(0)
  const lines = exported.out.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).type)).toEqual(['store.created', ...Array(3).fill('key.created')])
  const printed = (await command(world, ['head', store.id])).out
  const head = JSON.parse(printed)
  const { hash } = JSON.parse(lines[3] as string)
  expect(head).toEqual({ storeId: store.id, seq: 4, hash, at: expect.any(String) })
  const all = (await command(world, ['head', '--all'])).out.trimEnd().split('\n')
  expect(all.map((line) => JSON.parse(line))).toEqual([head, expect.objectContaining({ storeId: null })])

  writeFileSync(file, exported.out)
  expect(await command(world, ['verify', file, '--head', `4:${head.hash}`])).toEqual({
    code: 0,
    out: `Sound: 4 events of ${store.id}, head ${head.hash}\n`,
    err: '',
  })
  for (const given of [head.hash, printed.trimEnd()])
    expect(await command(world, ['verify', '-', '--head', given], exported.out)).toMatchObject({ code: 0 })
  expect(await launch(['verify', '-', '--head', head.hash], exported.out)).toEqual({
    code: 0,
    out: `Sound: 4 events of ${store.id}, head ${head.hash}\n`,
    err: '',
  })
  expect(await command(world, ['verify', '-'], exported.out.replaceAll('\n', '\r\n'))).toMatchObject({ code: 0 })

  // Every head that was kept, of whatever store, with the dates between them.
  const kept = join(folder, 'heads.txt')
  const early = JSON.stringify({ ...head, seq: 2, hash: JSON.parse(lines[1] as string).hash })
  writeFileSync(kept, ['Mon Jan  4', early, ...all.slice(1), 'Tue Jan  5', ...all].join('\n'))
  expect(await command(world, ['verify', file, '--heads', kept])).toMatchObject({ code: 0, err: '' })
  writeFileSync(kept, early)
  expect(await command(world, ['verify', file, '--heads', kept])).toEqual({
    code: 0,
    out: `Sound: 4 events of ${store.id}, head ${head.hash}\n`,
    err: 'The heads prove positions up to 2. They cannot show whether later events were rewritten.\n',
  })
  expect(await command(world, ['verify', file, '--head', all[1] as string])).toEqual({
    code: 2,
    out: '',
    err: `These are events of ${store.id}, and no head you gave is: give one of ${store.id}.\n`,
  })

  writeFileSync(file, exported.out.replace('"key.created"', '"key.revoked"'))
  const found = await command(world, ['verify', file])
  expect([found.code, found.out]).toEqual([1, ''])
  expect(found.err).toMatch(/^Not sound: event evt_\w+ at position 2 does not match its hash/)

  writeFileSync(file, `${lines.slice(0, 3).join('\n')}\n`)
  expect(await command(world, ['verify', file, '--head', head.hash])).toMatchObject({ code: 1 })
  writeFileSync(file, '')
  expect(await command(world, ['verify', file])).toMatchObject({ code: 1 })
  writeFileSync(file, 'x'.repeat(3 * 1024 * 1024))
  for (const called of [await command(world, ['verify', file]), await launch(['verify', file], '')])
    expect(called).toEqual({
      code: 2,
      out: '',
      err: 'This is no export: its first line is not one that "events export" prints.\n',
    })
  const faults: Record<string, string[]> = {
    'nothing could not be read': ['verify', join(folder, 'nothing')],
    '"x" is not a head': ['verify', file, '--head', 'x'],
    '"" is not a head': ['verify', file, '--head', ''],
    "Unknown option '--haed'": ['verify', file, '--haed', head.hash],
    'Name one file': ['verify'],
    'Name the store': ['export'],
    '"store_x" is not the id of a store': ['head', 'store_x'],
    'Unknown subcommand: events tail': ['tail', store.id],
  }
  for (const [fault, args] of Object.entries(faults)) {
    const { code, out, err } = await command(world, args)
    expect([code, out, err], fault).toEqual([2, '', expect.stringContaining(fault)])
  }
  for (const verb of ['export', 'head'])
    expect(await command(world, [verb, newId('store')])).toMatchObject({ code: 1, out: '' })
  // The wrong database is no quiet day.
  expect(await command({ ...world, databaseUrl: await newDatabase() }, ['head', '--all'])).toEqual({
    code: 1,
    out: '',
    err: 'There are no such events in this database. Are DATABASE_URL and DATA_DIR those of the service?\n',
  })
  const headsOf = (database: string) => {
    const url = new URL(world.databaseUrl)
    url.pathname = database
    return command({ ...world, databaseUrl: url.href }, ['head', '--all'])
  }
  expect(await headsOf('postgres')).toEqual({
    code: 1,
    out: '',
    err: 'This database has no Storekeeper data. Are DATABASE_URL and DATA_DIR those of the service?\n',
  })
  expect(await headsOf('nobody-made-this')).toEqual({
    code: 1,
    out: '',
    err: 'The database that DATABASE_URL names could not be reached: database "nobody-made-this" does not exist\n',
  })
  expect((await command(world, ['export', '--system'])).out).toContain('"storeId":null')
}, 180_000)

test('an export has the bytes that were hashed, and a terminal shows it without obeying it', async () => {
  const world = await shop({ alone: true })
  const db = connect({ connectionString: world.databaseUrl })
  onTestFinished(() => db.close())
  await writeEvents(db, [newEvent(operator(), world.store.id, 'store.updated', world.store.id, { to: '\x9b8m\u202e' })])
  const exported = await command(world, ['export', world.store.id])
  expect(exported.out).toContain('{"to":"\x9b8m\u202e"}')
  expect(await command(world, ['verify', '-'], exported.out)).toMatchObject({ code: 0 })
  const shown = await command(world, ['export', world.store.id], '', 80)
  expect(shown.out).toContain('{"to":"\\u009b8m\\u202e"}')
})

// ---- helpers --------------------------------------------------------------------------------------------------------

function chainOf(count: number) {
  const storeId = newId('store')
  const events: SealedEvent[] = Array.from({ length: count }, (_, i) => ({
    seq: i + 1,
    id: newId('evt'),
    storeId,
    type: 'store.updated',
    at: new Date(1_700_000_000_000 + i).toISOString(),
    actor: { kind: 'user', id: newId('user'), credential: newId('sess'), ip: '127.0.0.1' },
    subject: storeId,
    data: { from: { name: `${i}` }, to: { name: `${i + 1}` } },
  }))
  let hash = genesis(storeId)
  const hashes = events.map((event) => {
    hash = nextHash(hash, event)
    return hash
  })
  const lines = events.map((event, i) => exportLine({ ...event, hash: hashes[i] as string }))
  return { storeId, events, hashes, lines, head: hashes.at(-1) as string }
}

async function verdictOn(lines: string[], ...heads: Omit<Anchor, 'chain'>[]) {
  async function* each() {
    yield* lines
  }
  return verifyChain(
    each(),
    heads.map((head) => ({ chain: null, ...head })),
  )
}

async function command({ databaseUrl, serverSecret }: Shop, args: string[], input = '', columns?: number) {
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
  const { code, out, err } = await call(run, ['events', ...args], { env, input, ...(columns ? { columns } : {}) })
  return { code, out, err }
}

/** The same as a process. */
async function launch(args: string[], input: string) {
  const child = spawn(process.execPath, ['dist/cli/main.js', 'events', ...args])
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, err }
}
