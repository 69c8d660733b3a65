import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { hearChanges } from '../../tests/changes-heard.ts'
import { serviceClient } from '../../tests/service-client.ts'
import { type Api, closeSharedService, NEW_KEY, type Shop, shop } from '../../tests/shop.ts'
import { HOUR, now, travel } from '../core/clock.ts'
import { NEVER, thisMoment } from '../core/moment.ts'
import { ServerKeys } from '../crypto/keyring.ts'
import type { Db } from '../db/db.ts'
import { writeSettings } from '../keys/columns.ts'
import { UNSET } from '../keys/input.ts'
import type { CachedKey } from './cached-key.ts'
import { newKeyCache } from './key-cache.ts'

// ---- what is kept, and for how long, by a clock that we hold ---------------------------------------------------------

describe('in memory', () => {
  beforeAll(closeSharedService)
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => {
    vi.useRealTimers()
    travel(0)
  })

  test('a key is relied on for 1.5 s after it was asked for, or after the last heartbeat', async () => {
    const { keys, asked, beat } = memory()
    await keys.find('one')
    vi.advanceTimersByTime(1499)
    await keys.find('one')
    expect(asked()).toBe(1)
    vi.advanceTimersByTime(1)
    await keys.find('one')
    expect(asked()).toBe(2)
    for (let n = 0; n < 10; n++) {
      vi.advanceTimersByTime(1000)
      beat()
      await keys.find('one')
    }
    expect(asked()).toBe(2)
    vi.advanceTimersByTime(1500)
    await keys.find('one')
    expect(asked()).toBe(3)
  })

  test('the time for which the machine slept counts, although `performance.now()` stood still meanwhile', async () => {
    const { keys, asked, beat } = memory()
    await keys.find('one')
    beat()
    const wall = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 8_000)
    onTestFinished(() => wall.mockRestore())
    await keys.find('one')
    expect(asked()).toBe(2)
    // A clock that is set back makes nothing younger, and keeps nobody from relying on what is new.
    wall.mockReturnValue(Date.now() - HOUR)
    vi.advanceTimersByTime(1_499)
    await keys.find('one')
    expect(asked()).toBe(2)
    vi.advanceTimersByTime(1)
    await keys.find('one')
    expect(asked()).toBe(3)
  })

  test('it is dropped by its id, by its store’s, or with all others', async () => {
    const { keys, asked } = memory()
    const all = async () => {
      const before = asked()
      for (const token of ['one', 'two', 'far']) await keys.find(token)
      return asked() - before
    }
    expect([await all(), await all()]).toEqual([3, 0])
    for (const [id, many] of [
      ['key_one', 1],
      ['store_a', 2],
      ['store_far', 1],
      ['key_unknown', 0],
      [undefined, 3],
    ] as const) {
      keys.invalidate(id)
      expect([id, await all()]).toEqual([id, many])
    }
  })

  test('an answer that was under way while its key changed is used once and not kept', async () => {
    for (const [id, kept] of [
      ['key_one', 0],
      ['store_a', 0],
      [undefined, 0],
      ['key_two', 1],
      ['store_far', 1],
    ] as const) {
      const { keys, asked, hold } = memory()
      const answer = hold()
      const found = keys.find('one')
      keys.invalidate(id)
      answer()
      expect((await found)?.id).toBe('key_one')
      expect([id, keys.size()]).toEqual([id, kept])
      await keys.find('one')
      expect([id, asked()]).toEqual([id, 2 - kept])
      // What changed is not remembered longer than the question lasts.
      await keys.find('two')
      expect(keys.size()).toBe(2)
    }
  })

  test('whoever asks the same at the same moment shares the question, but none from before a change', async () => {
    const { keys, asked, hold } = memory()
    const answer = hold()
    const early = [keys.find('one'), keys.find('one')]
    expect(asked()).toBe(1)
    keys.invalidate('key_one')
    const late = [keys.find('one'), keys.find('one')]
    expect(asked()).toBe(2)
    answer()
    await Promise.all([...early, ...late])
    expect(keys.size()).toBe(1)
    await keys.find('one')
    expect(asked()).toBe(2)
    expect([keys.hits(), keys.misses()]).toEqual([1, 4])
  })

  test('who does not exist, or does not work, is asked for each time', async () => {
    const { keys, asked, rows } = memory()
    for (const [n, wrong] of [
      null,
      { revoked_at: now() },
      { enabled: false },
      { frozen: true },
      { expires_at: now() },
      { secret_expires_at: now() },
    ].entries()) {
      const token = `wrong ${n}`
      rows.set(token, wrong && { ...keyOf(token, 'store_a'), ...wrong })
      const before = asked()
      for (let time = 0; time < 3; time++) await keys.find(token)
      expect([wrong, asked() - before, keys.size()]).toEqual([wrong, 3, 0])
    }
    rows.set('mortal', { ...keyOf('mortal', 'store_a'), expires_at: new Date(now().getTime() + HOUR) })
    const before = asked()
    await keys.find('mortal')
    await keys.find('mortal')
    expect(asked() - before).toBe(1)
    travel(HOUR)
    await keys.find('mortal')
    await keys.find('mortal')
    expect(asked() - before).toBe(3)
  })

  test('a failure is told and nothing is kept', async () => {
    const { keys, rows, asked } = memory()
    rows.set('one', new Error('away'))
    await expect(keys.find('one')).rejects.toThrow('away')
    rows.delete('one')
    expect((await keys.find('one'))?.id).toBe('key_one')
    expect([asked(), keys.size()]).toEqual([2, 1])
  })

  test('it does not grow without end, neither by keys nor by their texts', async () => {
    // A twentieth of what a node keeps.
    const { keys, rows, asked } = memory({ maxBytes: 3_750_000 })
    for (let n = 0; n < 3_000; n++) await keys.find(`${n}`)
    const ordinary = keys.size()
    expect(ordinary).toBeGreaterThan(2_500)
    expect(ordinary).toBeLessThan(3_000)
    const before = asked()
    await keys.find('2999')
    expect(asked() - before).toBe(0)
    await keys.find('0')
    expect(asked() - before).toBe(1)
    const fill = async (more: Partial<CachedKey>) => {
      keys.invalidate()
      expect(keys.size()).toBe(0)
      for (let n = 0; n < 250; n++) {
        rows.set(`${n}`, { ...keyOf(`${n}`, 'store_a'), ...more })
        await keys.find(`${n}`)
      }
      return keys.size()
    }
    const wide = await fill({
      ip_allowlist: Array.from({ length: 50 }, (_, n) => `2001:db8:${n}:aaaa:bbbb:cccc::/128`),
    })
    expect(wide).toBe(250)
    const long = await fill({ metadata: JSON.stringify({ text: 'x'.repeat(15_990) }) })
    expect(long).toBeLessThan(250)
    // A text with a character beyond Latin-1 takes two bytes for each.
    const wideText = await fill({ metadata: JSON.stringify({ text: `€${'x'.repeat(15_987)}` }) })
    expect(long / wideText).toBeGreaterThan(1.8)
    // A store that goes takes all of its keys along.
    keys.invalidate('store_a')
    expect(keys.size()).toBe(0)
  })
})

type Answered = CachedKey | null | Error

function memory({ maxBytes }: { maxBytes?: number } = {}) {
  /** What the database says of a token; of any other, that it is a good key. */
  const rows = new Map<string, Answered>()
  let asked = 0
  let heardUpTo = NEVER
  let held: Promise<void> | null = null
  const waiting: string[] = []
  const db = {
    batched: async () => {
      asked += 1
      const token = waiting.shift() as string
      await held
      const row = rows.has(token) ? rows.get(token) : keyOf(token, token === 'far' ? 'store_far' : 'store_a')
      if (row instanceof Error) throw row
      return row ?? { id: null, store_id: null }
    },
  }
  // The token reaches the database as a hash only; which one it was is told on the side.
  const current = new ServerKeys(randomBytes(32))
  const hmac = current.hmac.bind(current)
  vi.spyOn(current, 'hmac').mockImplementation((purpose, token) => {
    waiting.push(String(token))
    return hmac(purpose, token as string)
  })
  const keys = newKeyCache(
    db as unknown as Db,
    { current, previous: null },
    () => 'issued',
    () => heardUpTo,
    maxBytes,
  )
  return {
    keys,
    rows,
    asked: () => asked,
    beat: () => {
      heardUpTo = thisMoment()
    },
    /** From now on answers wait until the returned function is called. */
    hold: () => {
      let release = () => {}
      held = new Promise((resolve) => {
        release = resolve
      })
      return () => release()
    },
  }
}

function keyOf(token: string, store: string): CachedKey {
  const settings = writeSettings(
    {},
    { ...UNSET, name: token, type: 'PROD', permissions: ['READ'], metadata: {}, rateLimits: [] },
  )
  return {
    ...settings,
    id: `key_${token}`,
    store_id: store,
    metadata: '{}',
    rehash_to: null,
    leaked: false,
    enabled: true,
    revoked_at: null,
    revision: 1,
    frozen: false,
    secret_no: 1,
    secret_expires_at: null,
    valid_until: Number.POSITIVE_INFINITY,
    verdict: null,
  }
}

// ---- on two nodes -----------------------------------------------------------------------------------------------------

type Made = { id: string; key: string; storeId: string }
const ASKED = { permissions: ['WRITE'] }

/** Every way to take something from a key, at a node, and what verifying says afterwards. */
const WAYS: Record<string, { code: string; take: (world: Shop, made: Made, at: Api) => Promise<unknown> }> = {
  revoked: { code: 'REVOKED', take: ({ owner }, made, at) => at.delete(pathOf(made), { as: owner.token }) },
  disabled: {
    code: 'DISABLED',
    take: ({ owner }, made, at) => at.patch(pathOf(made), { enabled: false }, { as: owner.token }),
  },
  'cut in its permissions': {
    code: 'INSUFFICIENT_PERMISSIONS',
    take: ({ owner }, made, at) => at.patch(pathOf(made), { permissions: ['READ'] }, { as: owner.token }),
  },
  'walled in': {
    code: 'FORBIDDEN_IP',
    take: ({ owner }, made, at) => at.patch(pathOf(made), { ipAllowlist: ['192.0.2.1'] }, { as: owner.token }),
  },
  'rotated without a grace': {
    code: 'NOT_FOUND',
    take: ({ owner }, made, at) => at.post(`${pathOf(made)}/rotate`, {}, { as: owner.token }),
  },
  'frozen with its store': {
    code: 'FROZEN',
    take: ({ owner }, made, at) =>
      at.post(`/v1/user/store/${made.storeId}/keys/freeze`, undefined, { as: owner.token }),
  },
  'deleted with its store': {
    code: 'NOT_FOUND',
    take: ({ owner }, made, at) => at.delete(`/v1/user/store/${made.storeId}`, { as: owner.token }),
  },
  'revoked with its maker': {
    code: 'REVOKED',
    take: async ({ owner, sql }, made, at) => {
      const [{ created_by_id: maker }] = await sql('select created_by_id from api_keys where id = $1', [made.id])
      const path = `/v1/user/store/${made.storeId}/members/${maker}?keys=revoke`
      return at.delete(path, { as: owner.token })
    },
  },
}

test('what is taken from a key counts at once where it was taken, and within 250 ms on a node that knew the key and sat idle', async () => {
  const world = await shop({ alone: true })
  const other = await world.node()
  const back = await serviceClient(world, null)
  const heard = await hearChanges(world.databaseUrl)
  for (const [what, { code, take }] of Object.entries(WAYS)) {
    for (const idleMs of [0, 700]) {
      const made = await newKey(world, what)
      for (const at of [world.api, other]) expect(await back.codeOf(made.key, ASKED, at)).toBe('VALID')
      await sleep(idleMs)
      heard.forget()
      await take(world, made, world.api)
      const answered = performance.now()
      expect([what, await back.codeOf(made.key, ASKED)]).toEqual([what, code])
      for (let told = ''; told !== code; ) {
        const asked = heard.knownFor(answered)
        told = await back.codeOf(made.key, ASKED, other)
        if (told !== code) expect([what, told, asked < 250]).toEqual([what, 'VALID', true])
      }
    }
  }
})

test('with the channel cut again and again every node still refuses within 2 s, and lets nobody in again', async () => {
  const world = await shop({ alone: true })
  const other = await world.node()
  const back = await serviceClient(world, null)
  const cutting = new AbortController()
  onTestFinished(() => cutting.abort())
  const cut = (async () => {
    while (!cutting.signal.aborted) {
      await world.sql(CUT)
      await sleep(130)
    }
  })()
  const gone: [string, Made, string][] = []
  for (const [what, { code, take }] of Object.entries(WAYS)) {
    const made = await newKey(world, what)
    const watching = new AbortController()
    // The other node is kept busy with the key, so that it always knows it.
    const watch = (async () => {
      while (!watching.signal.aborted) await back.codeOf(made.key, ASKED, other)
    })()
    await sleep(300)
    await take(world, made, world.api)
    const answered = performance.now()
    expect([what, await back.codeOf(made.key, ASKED)]).toEqual([what, code])
    expect(await lastLetIn(() => back.codeOf(made.key, ASKED, other), code, answered)).toBeLessThan(2000)
    watching.abort()
    await watch
    gone.push([what, made, code])
  }
  cutting.abort()
  await cut
  for (let round = 0; round < 5; round++) {
    for (const [what, made, code] of gone)
      for (const at of [world.api, other]) expect([what, await back.codeOf(made.key, ASKED, at)]).toEqual([what, code])
    await sleep(100)
  }
})

test('a key that was looked up while nobody listened is not believed for longer because somebody listens again', async () => {
  const world = await shop({ alone: true })
  const other = await world.node()
  const back = await serviceClient(world, null)
  for (let round = 0; round < 5; round++) {
    const made = await newKey(world, 'revoked')
    await until(async () => (await world.sql(LISTENERS)).length === 2)
    await world.sql(CUT)
    // Nobody listens now. The key is looked up, and then revoked elsewhere; the word of it reaches nobody.
    expect(await back.codeOf(made.key, ASKED, other)).toBe('VALID')
    await WAYS.revoked?.take(world, made, world.api)
    const answered = performance.now()
    expect(await lastLetIn(() => back.codeOf(made.key, ASKED, other), 'REVOKED', answered)).toBeLessThan(2000)
  }
})

const LISTENERS = `
  select pid
    from pg_stat_activity
   where datname = current_database()
     and application_name = 'storekeeper listener'`
const CUT = `select pg_terminate_backend(pid) from (${LISTENERS}) as listener`

function pathOf({ id, storeId }: Made): string {
  return `/v1/user/store/${storeId}/keys/${id}`
}

/** Of a store of its own, made by the owner or by a manager. */
async function newKey(world: Shop, what: string): Promise<Made> {
  const { api, owner, member, store } = world
  const byManager = what === 'revoked with its maker'
  const as = byManager ? (await member('MANAGER')).token : owner.token
  const storeId = byManager ? store.id : (await api.post('/v1/user/store', { name: what }, { as })).body.id
  const { status, body } = await api.post(`/v1/user/store/${storeId}/keys`, NEW_KEY, { as })
  expect(status).toBe(201)
  return body
}

/** How long after `since` the last was asked that was not refused: how long an answer takes is another matter. */
async function lastLetIn(ask: () => Promise<string>, refusal: string, since: number): Promise<number> {
  for (let last = 0; ; await sleep(5)) {
    const askedAfter = performance.now() - since
    if ((await ask()) === refusal) return last
    last = askedAfter
  }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('It did not come true within a minute')
    await sleep(5)
  }
}
