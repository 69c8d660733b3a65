// fakeStorekeeper() against the service: the same keys, changed in the same ways, and the same questions, in any order.

import { isStorekeeperError, type KeyChanges, type NewKey, storekeeper, type Verification } from '@storekeeper/client'
import { type FakeStorekeeper, fakeStorekeeper } from '@storekeeper/client/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { STRENGTH } from '../../../../bench/stress/strength.ts'
import { travel } from '../../../../src/core/clock.ts'
import { BUILT_IN_PERMISSIONS } from '../../../../src/core/permissions.ts'
import { type Shop, shop } from '../../../../tests/shop.ts'
import { newCredits } from './spending.ts'

const HOUR_MS = 3_600_000
/** Windows that do not end during a run: the database counts them by its own clock, which does not travel. */
const WINDOW_SECONDS = 86_400
/** How long a busy machine takes is not what is compared. */
const PATIENCE = { timeout: 60_000 }

// ---- what happens in a run --------------------------------------------------------------------------------------------

const permissions = fc.uniqueArray(fc.constantFrom('READ', 'WRITE', 'MANAGE_ORDERS'), { minLength: 1 })
const few = fc.integer({ min: 0, max: 3 })
const limit = fc.record({ limit: fc.integer({ min: 1, max: 4 }), windowSeconds: fc.constant(WINDOW_SECONDS) })
const named = fc
  .tuple(limit, fc.boolean())
  .map(([own, isShared]) => ({ ...own, shared: isShared ? ('owner' as const) : null }))
const rateLimits = fc
  .tuple(fc.option(named), fc.option(named))
  .map((both) => both.flatMap((one, n) => (one ? [{ name: ['exports', 'reads'][n] as string, ...one }] : [])))
const ranges = [['203.0.113.0/24'], ['198.51.100.7', '2001:db8::/32'], ['::ffff:203.0.113.0/120']]
const addresses = [
  '203.0.113.7',
  '::ffff:203.0.113.7',
  '198.51.100.7',
  '198.51.100.8',
  '2001:db8::1',
  '2001:DB9::1',
  '203.0.113.300',
  'here',
]

/** Undefined in most cases: a question that fails the first check says nothing about the others. */
const sometimes = <Value>(arbitrary: fc.Arbitrary<Value>, weight = 3) =>
  fc.oneof({ weight: 10 - weight, arbitrary: fc.constant(undefined) }, { weight, arbitrary })
const settings = {
  ipAllowlist: sometimes(fc.option(fc.constantFrom(...ranges)), 2),
  rateLimit: sometimes(fc.option(limit)),
  rateLimits: sometimes(rateLimits),
  credits: sometimes(fc.option(fc.record({ remaining: fc.integer({ min: 0, max: 6 }) }))),
  // In hours from now.
  expires: sometimes(fc.option(fc.constantFrom(1, 100)), 2),
}
const types = ['PROD', 'TEST', 'DEV'] as const
const newKey = fc.record({ ...settings, permissions, type: fc.constantFrom(...types) })
const asked = fc.uniqueArray(fc.constantFrom('READ', 'READ', 'WRITE', 'MANAGE_ORDERS', 'NO_SUCH_WORD'), {
  maxLength: 2,
})
const limitName = fc.constantFrom('default', 'exports', 'reads', 'none')
const question = fc.record({
  permissions: sometimes(asked),
  anyPermissions: sometimes(asked, 2),
  types: sometimes(fc.uniqueArray(fc.constantFrom(...types), { maxLength: 3 }), 2),
  ip: sometimes(fc.constantFrom(...addresses), 6),
  cost: sometimes(few),
  limits: sometimes(
    fc.uniqueArray(fc.record({ name: limitName, cost: few }, { requiredKeys: ['name'] }), {
      selector: ({ name }) => name,
      maxLength: 3,
    }),
  ),
  store: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('any' as const, 'first' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('second' as const, 'foreign' as const, 'both' as const, 'unsaid' as const),
    },
  ),
})
const does = <Name extends string>(...names: Name[]) => ({ do: fc.constantFrom(...names), which: few })
const step = fc.oneof(
  { weight: 20, arbitrary: fc.record({ ...does('ask'), secretsBack: fc.constantFrom(0, 0, 0, 1, 2), question }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...does('update'),
      changes: fc.record({ ...settings, permissions: sometimes(permissions), enabled: sometimes(fc.boolean()) }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...does('rotate'), grace: fc.constantFrom(0, 1800, 36_000) }) },
  { weight: 2, arbitrary: fc.record(does('unfreeze', 'wait')) },
  { weight: 1, arbitrary: fc.record(does('revoke', 'freeze')) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

// ---- both sides -------------------------------------------------------------------------------------------------------

type Pair = { real: string; fake: string; secrets: { real: string; fake: string }[] }
type World = {
  shop: Shop
  stores: string[]
  backEnd: ReturnType<typeof storekeeper>
  owner: ReturnType<typeof storekeeper>
}

/** What came of it: the answer, or the code of the error. */
async function outcomeOf<Answer>(does: () => Answer | Promise<Answer>): Promise<Answer | string> {
  try {
    return await does()
  } catch (error) {
    if (isStorekeeperError(error)) return error.code
    throw error
  }
}

type Drawn = { expires?: number | null | undefined }
function dated<Given extends Drawn>({ expires, ...rest }: Given, clock: number) {
  return expires === undefined
    ? rest
    : { ...rest, expiresAt: expires === null ? null : new Date(clock + expires * HOUR_MS) }
}

async function follow(
  { stores, backEnd, owner }: World,
  drawn: { keys: any[]; steps: Step[] },
  run: number,
): Promise<string[]> {
  const [first, second] = stores as [string, string]
  const fake = fakeStorekeeper({ stores: ['first', 'second'] })
  const pairs: Pair[] = []
  let travelled = 0
  travel(0)
  for (const [n, given] of drawn.keys.entries()) {
    const spec = { name: `Key ${n}`, owner: `owner ${run}`, ...dated(given, Date.now()) } as NewKey
    const made = {
      real: await owner.store(n === 3 ? second : first).keys.create(spec),
      fake: fake.createKey({ ...spec, storeId: n === 3 ? 'second' : 'first' }),
    }
    pairs.push({ real: made.real.id, fake: made.fake.id, secrets: [{ real: made.real.key, fake: made.fake.key }] })
  }
  const codes: string[] = []
  for (const step of drawn.steps) {
    const n = step.which % pairs.length
    const pair = pairs[n] as Pair
    const keys = owner.store(n === 3 ? second : first).keys
    if (step.do === 'ask') codes.push(await compareVerdicts(backEnd, fake, pair, pairs, step, [first, second]))
    if (step.do === 'update') {
      const changes = dated(step.changes, Date.now() + travelled) as KeyChanges
      const [a, b] = [
        await outcomeOf(() => keys.update(pair.real, changes)),
        await outcomeOf(() => fake.updateKey(pair.fake, changes)),
      ]
      expect(codeOf(b)).toBe(codeOf(a))
    }
    if (step.do === 'rotate') {
      const rotation = { gracePeriodSeconds: step.grace }
      const [a, b] = [
        await outcomeOf(() => keys.rotate(pair.real, rotation)),
        await outcomeOf(() => fake.rotateKey(pair.fake, rotation)),
      ]
      expect(codeOf(b)).toBe(codeOf(a))
      if (typeof a !== 'string' && typeof b !== 'string') pair.secrets.unshift({ real: a.key, fake: b.key })
    }
    if (step.do === 'revoke') {
      await keys.revoke(pair.real)
      fake.revokeKey(pair.fake)
    }
    if (step.do === 'freeze' || step.do === 'unfreeze') {
      await owner.store(first).keys[step.do]()
      fake[step.do]('first')
    }
    if (step.do === 'wait' && travelled < 3 * HOUR_MS) {
      travelled += HOUR_MS
      travel(HOUR_MS)
      fake.advance(HOUR_MS)
    }
  }
  await owner.store(first).keys.unfreeze()
  return codes
}

const codeOf = (outcome: unknown) => (typeof outcome === 'string' ? outcome : 'done')

async function compareVerdicts(
  backEnd: World['backEnd'],
  fake: FakeStorekeeper,
  pair: Pair,
  pairs: Pair[],
  { secretsBack, question: { store, ...rest } }: Extract<Step, { do: 'ask' }>,
  [first, second]: [string, string],
): Promise<string> {
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const secret = pair.secrets[secretsBack % pair.secrets.length] as Pair['secrets'][number]
  const scope = (a: string, b: string) =>
    ({
      first: { storeId: a },
      second: { storeId: b },
      foreign: { storeId: 'store_nowhere' },
      any: { anyStore: true },
      both: { anyStore: true, storeId: a },
      unsaid: {},
    })[store]
  const [real, faked] = [
    await outcomeOf(() =>
      backEnd.verifier().verify({ key: secret.real, ...given, ...scope(first, second) } as Verification, PATIENCE),
    ),
    await outcomeOf(() =>
      fake.verifier().verify({ key: secret.fake, ...given, ...scope('first', 'second') } as Verification),
    ),
  ]
  expect(typeof faked === 'string' ? faked : alike(faked)).toEqual(
    typeof real === 'string' ? real : translated(alike(real), pairs, [first, second]),
  )
  return typeof real === 'string' ? real : real.code
}

/** Windows end by the clock of the database: a second apart is the same. */
function alike(verdict: object): any {
  return JSON.parse(JSON.stringify(verdict, (name, value) => (name === 'resetSeconds' ? 'soon' : value)))
}

function translated(verdict: any, pairs: Pair[], [first]: [string, string]): object {
  const { keyId, storeId } = verdict
  return {
    ...verdict,
    keyId: pairs.find(({ real }) => real === keyId)?.fake ?? keyId,
    storeId: storeId === null ? null : storeId === first ? 'first' : 'second',
  }
}

test('whatever is asked of fakeStorekeeper(), it says what the service says', {
  timeout: STRENGTH.modelMs + 120_000,
}, async () => {
  const opened = await shop({ alone: true })
  const stores = [
    opened.store.id,
    (await opened.api.post('/v1/user/store', { name: 'Second' }, { as: opened.owner.token })).body.id,
  ]
  const clientOf = (token: string) => storekeeper({ url: opened.api.url, token, ...PATIENCE })
  const world = {
    shop: opened,
    stores,
    owner: clientOf(opened.owner.token),
    backEnd: clientOf(await opened.serviceToken(stores)),
  }
  const { data } = await world.owner.request<{ data: { permission: string }[] }>('GET', '/v1/permissions')
  expect(data.map(({ permission }) => permission)).toEqual([...BUILT_IN_PERMISSIONS])
  const seen = new Map<string, number>()
  const end = Date.now() + STRENGTH.modelMs
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        keys: fc.array(newKey, { minLength: 4, maxLength: 4 }),
        steps: fc.array(step, { minLength: 15, maxLength: 30 }),
      }),
      async (drawn) => {
        if (Date.now() > end && runs > 4 && seen.size > 4) return
        runs += 1
        for (const code of await follow(world, drawn, runs)) seen.set(code, (seen.get(code) ?? 0) + 1)
      },
    ),
    { numRuns: 1000 },
  )
  travel(0)
  expect(seen.get('VALID')).toBeGreaterThan(0)
  expect(seen.size).toBeGreaterThan(4)
  await Promise.all([world.owner.close(), world.backEnd.close()])
})

test('refills come when the service makes them', async () => {
  const { sql } = await shop()
  const moments = fc.sample(
    fc.date({ min: new Date('2024-01-01'), max: new Date('2029-01-01'), noInvalidDate: true }),
    200,
  )
  const intervals = ['HOUR', 'DAY', 'MONTH'] as const
  const asked = moments.map((at, n) => ({ at, interval: intervals[n % 3] as 'DAY', day: 1 + (n % 31) }))
  const rows = await sql(
    `select next_refill(at, interval, day) as next from json_to_recordset($1) as asked(at timestamptz, interval text, day int)`,
    [JSON.stringify(asked)],
  )
  const ours = asked.map(({ at, interval, day: dayOfMonth }) => {
    const credits = { remaining: 0, refill: { amount: 1, interval, dayOfMonth } }
    return new Date(newCredits({ credits }, at.getTime())?.refillsAt ?? 0)
  })
  expect(ours).toEqual(rows.map(({ next }) => next))
})

test('the whole client works on it', async () => {
  const sk = fakeStorekeeper({ inProcess: true })
  const keys = sk.store().keys
  const made = await keys.create({ name: 'Checkout', type: 'PROD', permissions: ['WRITE', 'READ'] })
  expect(made).toMatchObject({ permissions: ['WRITE', 'READ'], start: expect.stringMatching(/^skp_prod_.{4}$/) })
  expect(await keys.list({ status: 'ACTIVE' }).toArray({ max: 10 })).toEqual([await keys.read(made.id)])
  const verifier = sk.verifier()
  expect([verifier.state, verifier.now({ key: made.key })?.valid]).toEqual(['covered', true])
  expect(await sk.keys.verify({ key: made.key, permissions: ['READ'] })).toMatchObject({ valid: true, keyId: made.id })
  const rotated = await keys.rotate(made.id, { gracePeriodSeconds: 60 })
  sk.advance(60_000)
  expect([verifier.now({ key: made.key }), verifier.now({ key: rotated.key })?.valid]).toEqual([null, true])
  await keys.freeze()
  expect(await verifier.verify({ key: rotated.key })).toMatchObject({ code: 'FROZEN' })
  await keys.unfreeze()
  expect(await keys.revoke(made.id, { reason: 'lost' })).toMatchObject({ status: 'REVOKED', revocationReason: 'lost' })
  expect([verifier.now({ key: rotated.key }), (await verifier.verify({ key: rotated.key })).code]).toEqual([
    null,
    'REVOKED',
  ])
  await expect(keys.update(made.id, { name: 'Other' })).rejects.toMatchObject({ code: 'key_revoked', status: 409 })
  await expect(keys.read('key_none')).rejects.toMatchObject({ code: 'key_not_found' })
  await expect(sk.countries.list()).rejects.toMatchObject({ code: 'not_found' })
  const limited = sk.createKey({ rateLimit: { limit: 1, windowSeconds: 60 } })
  expect(verifier.now({ key: limited.key })).toBeNull()
  sk.isDown = true
  await expect(verifier.verify({ key: limited.key })).rejects.toMatchObject({ code: 'unavailable' })
  await sk.close()
})

test('a verifier in the process works on it, and hears of what changes', async () => {
  const fake = fakeStorekeeper()
  const sk = storekeeper({ url: 'http://fake', token: 'any', fetch: fake.fetch, inProcess: true })
  const verifier = sk.verifier()
  const { id, key } = fake.createKey({ expiresAt: new Date(Date.now() + HOUR_MS) })
  expect(await verifier.verify({ key, permissions: ['READ'] })).toMatchObject({ valid: true, keyId: id })
  await expect.poll(() => verifier.state).toBe('covered')
  await verifier.verify({ key })
  const asked = fake.questions.length
  expect(verifier.now({ key })).toMatchObject({ valid: true })
  expect(fake.questions).toHaveLength(asked)
  fake.revokeKey(id)
  await expect.poll(() => verifier.now({ key })).toBeNull()
  expect(await verifier.verify({ key })).toMatchObject({ valid: false, code: 'REVOKED' })
  await sk.close()
})
