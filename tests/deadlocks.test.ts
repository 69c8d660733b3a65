// Locks are taken in one order everywhere (docs/internals.md), so no two requests ever wait for each other: on two nodes, in
// stores that share their owners, with everything at once that takes more than one lock.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { STRENGTH } from '../bench/stress/strength.ts'
import { newRandom } from './random.ts'
import { newSession } from './sessions.ts'
import { NEW_ADDRESS, NEW_KEY, type Person, type Reply, type Shop, shop } from './shop.ts'

type Tenant = { id: string; keyIds: string[]; secrets: string[] }
type Round = { at: Shop['api']; people: Person[]; tenant: Tenant; n: number }
type Act = (world: Shop, round: Round, tokens: Map<string, string>) => Promise<Reply>

const PERMISSIONS = ['READ', 'WRITE', 'MANAGE_KEYS', 'MANAGE_MEMBERS']

test('two nodes never deadlock, whatever they are asked for at once', async () => {
  const world = await shop({ alone: true })
  const { api, node, person } = world
  const nodes = [api, await node()]
  const random = newRandom()
  const people = await Promise.all(Array.from({ length: 4 }, () => person()))
  const tenants: Tenant[] = []
  for (let n = 0; n < 8; n++) tenants.push(await openStore(world, people))
  const tokens = new Map(people.map(({ id, token }) => [id, token]))
  const acts = Object.entries(ACTS)
  const broken: string[] = []
  for (let round = 0; round < STRENGTH.deadlockRounds; round++)
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const [name, act] = random.pick(acts)
        const [at, tenant] = [random.pick(nodes), random.pick(tenants)]
        const shuffled = [...people].sort(() => random.next() - 0.5)
        const { status } = await act(world, { at, people: shuffled, tenant, n: round * 40 + n }, tokens)
        if (status === 500) broken.push(name)
      }),
    )
  expect([broken, await countDeadlocks(world)], `SEED=${random.seed}`).toEqual([[], 0])
})

// A row that two hold, one who changes it and one who only wants it to stay, has a version that is neither old nor new once the
// first has committed. Whoever waited for it must not come back to that version: the next in line holds it.
test('changes of a store, and of keys that wait for one which somebody else holds, too, wait for nobody who waits for them', async () => {
  const world = await shop({ alone: true })
  const { api, owner, member, store, keys, databaseUrl, serviceToken } = world
  const as = { as: owner.token }
  const [changer, sharer] = await Promise.all(
    Array.from({ length: 2 }, async () => {
      const client = new pg.Client({ connectionString: databaseUrl })
      // Its connection is ended when deadlocks are counted.
      client.on('error', () => {})
      onTestFinished(() => client.end())
      await client.connect()
      return client
    }),
  )
  const WAITING = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  /**
   * Both wait for the row, one after the other, while one changes it and another one shares it. On a busy machine the first may
   * have given up before the second has come: then they are asked again.
   */
  const inLine = async (
    table: string,
    id: string,
    first: () => Promise<Reply>,
    second: () => Promise<Reply>,
  ): Promise<number[]> => {
    await sharer?.query('begin')
    await sharer?.query(`select from ${table} where id = $1 for key share`, [id])
    await changer?.query('begin')
    await changer?.query(`update ${table} set updated_at = updated_at where id = $1`, [id])
    const asked: Promise<Reply>[] = []
    let answered = 0
    for (const ask of [first, second]) {
      asked.push(ask().finally(() => answered++))
      while (answered === 0 && (await world.sql(WAITING)).length < asked.length) await sleep(5)
    }
    const isLine = answered === 0
    await changer?.query('commit')
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    await sharer?.query('commit')
    return isLine ? statuses : inLine(table, id, first, second)
  }
  const create = () => api.post(keys, NEW_KEY, as)
  const rename = () => api.patch(`/v1/user/store/${store.id}`, { name: 'Renamed' }, as)
  expect(await inLine('stores', store.id, create, rename)).toEqual([201, 200])
  const elsewhere = await world.node()
  const createElsewhere = () => elsewhere.post(keys, NEW_KEY, as)
  // A node's first request may take longer than the other waits for the lock.
  expect((await createElsewhere()).status).toBe(201)
  expect(await inLine('stores', store.id, create, createElsewhere)).toEqual([201, 201])

  const manager = await member('MANAGER')
  const { id: keyId } = (await api.post(keys, NEW_KEY, { as: manager.token })).body
  const service = await serviceToken()
  const settle = () => api.delete(`/v1/user/store/${store.id}/members/${manager.id}?keys=revoke`, as)
  const report = () =>
    api.post(
      '/v1/keys/usage',
      { reporter: 'a-reporter-of-use', seq: 1, counts: [{ keyId, secret: 1, valid: 5, agoMs: 0 }] },
      { as: service },
    )
  expect(await inLine('api_keys', keyId, settle, report)).toEqual([200, 200])
  expect(await countDeadlocks(world)).toBe(0)
})

/** A connection tells what it has counted when it ends, or else a while later. */
async function countDeadlocks({ sql }: Shop): Promise<number> {
  const others =
    'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and pid = any($1)'
  const [{ pids }] = await sql(`select array_agg(pid) as pids from pg_stat_activity where datname = current_database()`)
  await sql(`select pg_terminate_backend(pid) ${others}`, [pids])
  await expect.poll(() => sql(`select ${others}`, [pids])).toEqual([])
  return (await sql('select deadlocks::int from pg_stat_database where datname = current_database()'))[0].deadlocks
}

/** A store that all of them own, with keys that manage keys. */
async function openStore({ api, sql }: Shop, [owner, ...others]: Person[]): Promise<Tenant> {
  const as = owner?.token as string
  const { id } = (await api.post('/v1/user/store', { name: 'Shared', registration: 'OPEN' }, { as })).body
  for (const other of others)
    await sql(
      `insert into members (store_id, user_id, role, created_at, updated_at) values ($1, $2, 'OWNER', now(), now())`,
      [id, other.id],
    )
  const keys = await Promise.all(
    Array.from({ length: 3 }, () =>
      api.post(`/v1/user/store/${id}/keys`, { ...NEW_KEY, permissions: PERMISSIONS }, { as }),
    ),
  )
  return { id, keyIds: keys.map(({ body }) => body.id), secrets: keys.map(({ body }) => body.key) }
}

const keysOf = ({ tenant }: Round) => `/v1/user/store/${tenant.id}/keys`
const storeOf = ({ tenant }: Round) => `/v1/user/store/${tenant.id}`
const tokenOf = ({ people }: Round, tokens: Map<string, string>) => tokens.get(people[0]?.id as string) as string
const keyOf = ({ tenant, n }: Round) => tenant.keyIds[n % tenant.keyIds.length] as string
const secretOf = ({ tenant, n }: Round) => tenant.secrets[n % tenant.secrets.length] as string

const ACTS: Record<string, Act> = {
  'create a key': (_, round, tokens) => round.at.post(keysOf(round), NEW_KEY, { as: tokenOf(round, tokens) }),
  'create a key with a key': (_, round) => round.at.post(keysOf(round), NEW_KEY, { as: secretOf(round) }),
  'create a key, safely': (_, round, tokens) =>
    round.at.post(keysOf(round), NEW_KEY, {
      as: tokenOf(round, tokens),
      headers: { 'idempotency-key': `same-${Math.floor(round.n / 8)}` },
    }),
  'create an address': (_, round, tokens) =>
    round.at.post(`/v1/store/${round.tenant.id}/billing`, NEW_ADDRESS, { as: tokenOf(round, tokens) }),
  'change a key': (_, round, tokens) =>
    round.at.patch(`${keysOf(round)}/${keyOf(round)}`, { name: `Key ${round.n}` }, { as: tokenOf(round, tokens) }),
  'change a key with a key': (_, round) =>
    round.at.patch(
      `${keysOf(round)}/${keyOf(round)}`,
      { name: `Key ${round.n}` },
      { as: secretOf({ ...round, n: round.n + 1 }) },
    ),
  'rotate a key': async (_, round, tokens) => {
    const reply = await round.at.post(
      `${keysOf(round)}/${keyOf(round)}/rotate`,
      { gracePeriodSeconds: 60 },
      { as: tokenOf(round, tokens) },
    )
    if (reply.status === 200) round.tenant.secrets[round.n % round.tenant.secrets.length] = reply.body.key
    return reply
  },
  'invite somebody': (_, round, tokens) =>
    round.at.post(
      `${storeOf(round)}/invitations`,
      { email: 'same@example.com', role: 'STAFF' },
      { as: tokenOf(round, tokens) },
    ),
  'invite and accept': async ({ api, person }, round, tokens) => {
    const guest = await person()
    const invited = await round.at.post(
      `${storeOf(round)}/invitations`,
      { email: guest.email, role: 'STAFF' },
      { as: tokenOf(round, tokens) },
    )
    if (invited.status !== 201) return invited
    const again = api.post(
      `${storeOf(round)}/invitations`,
      { email: guest.email, role: 'STAFF' },
      { as: tokenOf(round, tokens) },
    )
    const accepted = await round.at.post(
      '/v1/user/invitations/accept',
      { token: invited.body.token },
      { as: guest.token },
    )
    await again
    return accepted
  },
  'join and be erased': async ({ api, person }, round) => {
    const guest = await person()
    const as = guest.token
    const joining = round.at.post(`/v1/store/${round.tenant.id}/join`, {}, { as })
    const adding = api.post(`/v1/store/${round.tenant.id}/billing`, NEW_ADDRESS, { as })
    const erasing = api.delete('/v1/user', { as })
    await Promise.all([joining, adding])
    return erasing
  },
  'invite, and end the session while it is accepted': async (world, round, tokens) => {
    const [[who], guest] = [round.people as [Person], await world.person()]
    const session = await newSession(world, who.id)
    const body = { email: guest.email, role: 'CUSTOMER' }
    const invited = await round.at.post(`${storeOf(round)}/invitations`, body, { as: session.token })
    if (invited.status !== 201) return invited
    const accepting = round.at.post('/v1/user/invitations/accept', { token: invited.body.token }, { as: guest.token })
    const ending = world.api.delete(`/v1/user/sessions/${session.id}`, { as: tokenOf(round, tokens) })
    await ending
    return accepting
  },
  'act and sign out': async (world, round, tokens) => {
    const [who] = round.people as [Person]
    const { token: as } = await newSession(world, who.id)
    const acting = round.at.post(keysOf(round), NEW_KEY, { as })
    const adding = world.api.post(`/v1/store/${round.tenant.id}/billing`, NEW_ADDRESS, { as })
    const leaving = round.at.post('/v1/auth/sign-out', {}, { as })
    await Promise.all([acting, adding, leaving])
    return round.n % 3 === 0 ? round.at.delete('/v1/user/sessions', { as: tokenOf(round, tokens) }) : leaving
  },
}
