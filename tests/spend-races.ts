// Keys that spend, raced at two nodes: random credits, refills that are due, limits of keys and of their owner, costs,
// changes by a manager, and retries of the same request at both nodes, all sent at once. Afterwards the books must balance:
//
// - credits: what there was, and what was added, less what valid verifications cost, is what is left;
// - windows: what was used is what valid verifications took, so that a refused one took nothing anywhere;
// - no limit is exceeded, and nobody was refused who had room;
// - requests under one Idempotency-Key count once and are answered alike.

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sharedWindowId } from '../src/keys/purchase.ts'
import { type Nodes, newTenant, type Tenant } from './rights-tenant.ts'

const KEYS = 3
const NAMES = ['a', 'b'] as const
const OWNER = 'ada'

type Limit = { name: string; limit: number; shared: boolean }
type KeySpec = {
  credits: { remaining: number; refill: number | null } | null
  rateLimit: number | null
  limits: Limit[]
}
type Verify = { key: number; cost: number; limits: { name: string; cost: number }[] | null }
type Change = { key: number; add?: number; set?: number }
/** Sent once, or under one Idempotency-Key so many times, in turn to each node. */
type Asked = { ask: Verify | Change; node: 0 | 1; times: number | null }
/** What is asked at once. All refills fall due before each round. */
export type SpendRace = { keys: KeySpec[]; rounds: Asked[][] }

const keyIndex = fc.nat(KEYS - 1)
const keySpec: fc.Arbitrary<KeySpec> = fc.record({
  credits: fc.option(fc.record({ remaining: fc.nat(20), refill: fc.option(fc.integer({ min: 1, max: 20 })) }), {
    freq: 4,
  }),
  rateLimit: fc.option(fc.integer({ min: 1, max: 8 })),
  limits: fc.uniqueArray(
    fc.record({ name: fc.constantFrom(...NAMES), limit: fc.integer({ min: 1, max: 12 }), shared: fc.boolean() }),
    { selector: ({ name }) => name, maxLength: NAMES.length },
  ),
})
const verify: fc.Arbitrary<Verify> = fc.record({
  key: keyIndex,
  cost: fc.nat(4),
  limits: fc.option(
    fc.uniqueArray(fc.record({ name: fc.constantFrom('default', ...NAMES), cost: fc.nat(3) }), {
      selector: ({ name }) => name,
      maxLength: 3,
    }),
  ),
})
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ key: keyIndex, add: fc.integer({ min: 1, max: 10 }) }),
  fc.record({ key: keyIndex, set: fc.nat(10) }),
)
const asked: fc.Arbitrary<Asked> = fc.record({
  ask: fc.oneof({ arbitrary: verify, weight: 9 }, { arbitrary: change, weight: 1 }),
  node: fc.constantFrom(0, 1),
  times: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 2 }),
})
export const spendRaces: fc.Arbitrary<SpendRace> = fc.record({
  keys: fc.array(keySpec, { minLength: KEYS, maxLength: KEYS }),
  rounds: fc.array(fc.array(asked, { minLength: 4, maxLength: 24 }), { minLength: 1, maxLength: 2 }),
})

type Made = KeySpec & { id: string; key: string }
type Reply = { status: number; text: string; body: { code?: string; valid?: boolean } }
type Outcome = Asked & { replies: Reply[]; code: string }

/** Every way in which the books do not balance. Empty is what is hoped for. */
export async function raceSpending(nodes: Nodes, race: SpendRace): Promise<string[]> {
  const tenant = await newTenant(nodes)
  const keys = await Promise.all(race.keys.map((spec) => create(tenant, spec)))
  const faults: string[] = []
  const outcomes: Outcome[] = []
  for (const round of race.rounds) {
    await nodes.sql(
      `update key_credits set refills_at = now() - interval '1 minute' where key_id = any($1) and refill_amount is not null`,
      [keys.map(({ id }) => id)],
    )
    const before = await balancesOf(tenant, keys)
    const done = await Promise.all(round.map((one) => sendAsked(tenant, keys, one)))
    outcomes.push(...done)
    faults.push(...retryFaults(done), ...creditFaults(keys, before, await balancesOf(tenant, keys), done))
  }
  faults.push(...(await windowFaults(tenant, keys, outcomes)))
  return faults
}

// ---- requests -------------------------------------------------------------------------------------------------------

const managerOf = ({ people }: Tenant) => people[0]?.tokens[0] as string
const keysPath = ({ storeId }: Tenant) => `/v1/user/store/${storeId}/keys`

async function post(url: string, path: string, body: object, as: string, once?: string): Promise<Reply> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${as}`,
      'content-type': 'application/json',
      ...(once === undefined ? {} : { 'idempotency-key': once }),
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  // On a busy machine some have waited too long. Nothing was spent then, and they ask again.
  if (response.status === 503) return post(url, path, body, as, once)
  return { status: response.status, text, body: JSON.parse(text) }
}

async function create(tenant: Tenant, spec: KeySpec): Promise<Made> {
  const { status, text, body } = await post(
    tenant.nodes.urls[0],
    keysPath(tenant),
    {
      name: 'Raced',
      type: 'PROD',
      permissions: ['READ'],
      owner: OWNER,
      credits: spec.credits && {
        remaining: spec.credits.remaining,
        refill: spec.credits.refill === null ? null : { amount: spec.credits.refill, interval: 'DAY' },
      },
      rateLimit: spec.rateLimit === null ? null : { limit: spec.rateLimit, windowSeconds: 3600 },
      rateLimits: spec.limits.map(({ name, limit, shared }) => ({
        name,
        limit,
        windowSeconds: 3600,
        ...(shared ? { shared: 'owner' } : {}),
      })),
    },
    managerOf(tenant),
  )
  if (status !== 201) throw new Error(`A key was not created: ${text}`)
  return { ...spec, ...(body as { id: string; key: string }) }
}

async function sendAsked(tenant: Tenant, keys: Made[], one: Asked): Promise<Outcome> {
  const { ask, node, times } = one
  const { id, key } = keys[ask.key] as Made
  const once = times === null ? undefined : randomUUID()
  const replies = await Promise.all(
    Array.from({ length: times ?? 1 }, (_, n) => {
      const url = tenant.nodes.urls[(node + n) % 2] as string
      if (!('cost' in ask)) {
        const { key: _, ...body } = ask
        return post(url, `${keysPath(tenant)}/${id}/credits`, body, managerOf(tenant), once)
      }
      const { cost, limits } = ask
      const question = { key, storeId: tenant.storeId, cost, ...(limits === null ? {} : { limits }) }
      return post(url, '/v1/keys/verify', question, tenant.nodes.serviceToken, once)
    }),
  )
  const answered = replies.filter(({ body }) => body.code !== 'idempotency_in_progress')
  return { ...one, replies, code: answered[0]?.body.code ?? String(answered[0]?.status) }
}

// ---- the books ------------------------------------------------------------------------------------------------------

const told = ({ ask, times, code }: Outcome) => `${JSON.stringify(ask)} × ${times ?? 'once, without a key'}: ${code}`

function retryFaults(outcomes: Outcome[]): string[] {
  return outcomes.flatMap((outcome) => {
    const answered = outcome.replies.filter(({ body }) => body.code !== 'idempotency_in_progress')
    const expected = 'cost' in outcome.ask ? [200] : [200, 409]
    const strange = answered.filter(({ status }) => !expected.includes(status))
    const texts = new Set(answered.map(({ status, text }) => (status === 200 ? text : String(status))))
    return [
      ...strange.map(({ text }) => `${told(outcome)} was answered ${text}`),
      ...(answered.length === 0 ? [`${told(outcome)} was not answered at all`] : []),
      ...(texts.size > 1 ? [`${told(outcome)} was answered in ${texts.size} ways`] : []),
    ]
  })
}

/** What each key has left, and what managers have added so far: each change tells in its event from what to what. */
type Balance = { remaining: number; added: number }

async function balancesOf({ nodes }: Tenant, keys: Made[]): Promise<Map<string, Balance>> {
  const rows = await nodes.sql(
    `select key_id, greatest(remaining, case when refills_at <= now() then refill_amount end)::float8 as remaining,
            (select coalesce(sum((data ->> 'to')::int - (data ->> 'from')::int), 0)::float8
               from events
              where subject = key_id and type = 'key.credits_changed') as added
       from key_credits
      where key_id = any($1)`,
    [keys.map(({ id }) => id)],
  )
  return new Map(rows.map(({ key_id, ...balance }) => [key_id as string, balance as Balance]))
}

function creditFaults(
  keys: Made[],
  before: Map<string, Balance>,
  after: Map<string, Balance>,
  outcomes: Outcome[],
): string[] {
  return keys.flatMap(({ id }, n) => {
    const [was, is] = [before.get(id), after.get(id)]
    if (!was || !is) return []
    const questions = outcomes.filter(({ ask }) => ask.key === n && 'cost' in ask)
    const costOf = ({ ask }: Outcome) => ('cost' in ask ? ask.cost : 0)
    const spent = questions.filter(({ code }) => code === 'VALID').reduce((sum, one) => sum + costOf(one), 0)
    const added = is.added - was.added
    const due = was.remaining + added - spent
    const isChanged = outcomes.some(({ ask }) => ask.key === n && !('cost' in ask))
    // Without changes what is left only falls: whoever had too little then has too little now.
    const refused = isChanged
      ? []
      : questions.filter((one) => one.code === 'USAGE_EXCEEDED' && costOf(one) <= is.remaining)
    return [
      ...(is.remaining === due
        ? []
        : [`key ${n} has ${is.remaining} left: ${was.remaining} + ${added} - ${spent} is ${due}`]),
      ...refused.map((one) => `${told(one)}, and ${is.remaining} are left`),
    ]
  })
}

/** What a question takes of each window, by the window's id. */
function windowsOf({ storeId }: Tenant, key: Made, { limits }: Verify): { id: string; limit: number; cost: number }[] {
  const all = [
    ...(key.rateLimit === null ? [] : [{ name: 'default', id: key.id, limit: key.rateLimit }]),
    ...key.limits.map(({ name, limit, shared }) => ({
      name,
      id: shared ? sharedWindowId(storeId, { name, windowSeconds: 3600 }, OWNER) : `${key.id}:${name}`,
      limit,
    })),
  ]
  if (limits === null) return all.map((window) => ({ ...window, cost: 1 }))
  return all.flatMap((window) =>
    limits.filter(({ name }) => name === window.name).map(({ cost }) => ({ ...window, cost })),
  )
}

async function windowFaults(tenant: Tenant, keys: Made[], outcomes: Outcome[]): Promise<string[]> {
  const rows = await tenant.nodes.sql(`select id, used from key_rate_windows where id like any($1)`, [
    [`${tenant.storeId}:%`, ...keys.map(({ id }) => `${id}%`)],
  ])
  const used = new Map(rows.map(({ id, used }) => [id as string, used as number]))
  const taken = new Map<string, { valid: number; counted: number; limit: number }>()
  for (const { ask, times, code } of outcomes) {
    if (!('cost' in ask)) continue
    const key = keys[ask.key] as Made
    // Of a key that has `rateLimit` only, uses beyond the limit are counted too.
    const countsRefused = !key.credits && key.limits.length === 0 && ask.limits === null && times === null
    for (const { id, limit, cost } of windowsOf(tenant, key, ask)) {
      const sum = taken.get(id) ?? { valid: 0, counted: 0, limit: 0 }
      if (code === 'VALID') sum.valid += cost
      if (code === 'VALID' || countsRefused) sum.counted += cost
      taken.set(id, { ...sum, limit: Math.max(sum.limit, limit) })
    }
  }
  const wrong = [...taken].flatMap(([id, { valid, counted, limit }]) => [
    ...((used.get(id) ?? 0) === counted ? [] : [`window ${id}: ${used.get(id)} used, ${counted} were taken`]),
    ...(valid > limit ? [`window ${id}: ${valid} of ${limit} were taken`] : []),
  ])
  const refused = outcomes.filter(({ ask, code }) => {
    if (!('cost' in ask) || code !== 'RATE_LIMITED') return false
    const windows = windowsOf(tenant, keys[ask.key] as Made, ask)
    return windows.every(({ id, limit, cost }) => (used.get(id) ?? 0) + cost <= limit)
  })
  return [...wrong, ...refused.map((one) => `${told(one)}, and every window has room`)]
}
