// Nothing that was asked for under a session or a key is written after the answer that ended it, whichever route it is and
// on whichever node.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { fromNow, MINUTE } from '../src/core/clock.ts'
import { newId } from '../src/core/ids.ts'
import { BUILT_IN_PERMISSIONS } from '../src/core/permissions.ts'
import { isChange, type Route } from '../src/core/route.ts'
import { routes } from '../src/routes.ts'
import { identityProvider } from './identity-provider.ts'
import { newSession } from './sessions.ts'
import { NEW_ADDRESS, NEW_KEY, type Reply, type Shop, shop } from './shop.ts'

const isPermission = ({ needs }: Route) => BUILT_IN_PERMISSIONS.some((permission) => permission === needs)
const nameOf = ({ method, path }: Route) => `${method} ${path}`
/** Restoring needs a store that is deleted, and has a test of its own below. */
const changes = routes.filter((row) => isChange(row) && row.needs !== 'public' && row.id !== 'stores.restore')

/** One of each thing that a path may name; nothing here is ever changed, so that all routes share it. */
async function things(world: Shop): Promise<Record<string, string>> {
  const { api, owner, store, keys, billing, member, person } = world
  const at = `/v1/user/store/${store.id}`
  const as = owner.token
  // With another owner, so that the owner may leave.
  const [guest, other] = [await person(), await member('STAFF'), await member('OWNER')]
  const invited = await api.post(`${at}/invitations`, { email: guest.email, role: 'STAFF' }, { as })
  const webhook = await api.post(`${at}/webhooks`, { url: 'https://93.184.215.14/', types: ['*'] }, { as })
  const delivery = await api.post(`${at}/webhooks/${webhook.body.id}/test`, {}, { as })
  const open = await api.post('/v1/user/store', { name: 'Open', registration: 'OPEN' }, { as: other.token })
  const mine = await api.post(
    `/v1/user/store/${open.body.id}/invitations`,
    { email: owner.email, role: 'STAFF' },
    { as: other.token },
  )
  return {
    storeId: store.id,
    keyId: (await api.post(keys, NEW_KEY, { as })).body.id,
    addressId: (await api.post(billing, NEW_ADDRESS, { as })).body.id,
    userId: other.id,
    invitationId: invited.body.id,
    webhookId: webhook.body.id,
    deliveryId: delivery.body.id,
    serviceTokenId: (await api.post(`${at}/service-tokens`, { name: 'Gateway' }, { as })).body.id,
    sessionId: (await newSession(world, world.owner.id)).id,
    // The session is looked at before the passkey.
    passkeyId: newId('passkey'),
    openStoreId: open.body.id,
    invitationToSelf: mine.body.token,
  }
}

/** The row's example, with what only this world knows. */
function requestFor(row: Route, ids: Record<string, string>, { owner }: Shop): { path: string; body: unknown } {
  const joins = row.path === '/v1/store/:storeId/join'
  const path = row.path.replace(/:(\w+)/g, (_, param) => ids[joins ? 'openStoreId' : param] ?? '1')
  if (row.path === '/v1/user/invitations/accept') return { path, body: { token: ids.invitationToSelf } }
  if (row.path === '/v1/user/password')
    return { path, body: { currentPassword: owner.password, newPassword: 'another horse, another battery' } }
  return { path, body: row.example?.body ?? (row.method === 'DELETE' ? undefined : {}) }
}

/** A connection of the test's own, for transactions that requests have to wait for. */
async function connect({ databaseUrl }: Shop): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** Lets a request run into an ending that is not yet committed, then commits it. */
async function whileEnding(
  { sql }: Shop,
  client: pg.Client,
  ending: string,
  ask: () => Promise<Reply>,
): Promise<Reply> {
  await client.query(`begin; ${ending}`)
  let answered = false
  const asked = ask().finally(() => {
    answered = true
  })
  while (!answered && (await sql(WAITING)).length === 0) await sleep(5)
  await client.query('commit')
  return asked
}

const WAITING = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

test('a session that is ended under the caller’s hands restores no store', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, sql } = world
  const client = await connect(world)
  await api.delete(`/v1/user/store/${store.id}`, { as: owner.token })
  const session = await newSession(world, owner.id)
  const reply = await whileEnding(world, client, `delete from sessions where id = '${session.id}'`, () =>
    api.post(`/v1/user/store/${store.id}/restore`, undefined, { as: session.token }),
  )
  expect([reply.status, reply.body?.code]).toEqual([401, 'invalid_token'])
  expect(await sql(`select id from events where type = 'store.restored'`)).toEqual([])
})

test('a session that is ended under the caller’s hands changes nothing more, on every route', async () => {
  const world = await shop({ alone: true })
  const { api, owner, sql } = world
  const ids = await things(world)
  const client = await connect(world)
  const [before] = await sql('select count(*)::int from events')
  for (const row of changes.filter(({ needs }) => needs !== 'service')) {
    const session = await newSession(world, world.owner.id)
    const { path, body } = requestFor(row, ids, world)
    const reply = await whileEnding(world, client, `delete from sessions where id = '${session.id}'`, () =>
      api.ask(row.method, path, body, { as: session.token }),
    )
    expect([nameOf(row), reply.status, reply.body?.code]).toEqual([nameOf(row), 401, 'invalid_token'])
  }
  // Every change has an event.
  expect(await sql('select count(*)::int from events')).toEqual([before])
  expect((await api.get('/v1/user', { as: owner.token })).status).toBe(200)
})

test('a session ends without waiting for an import or a bulk change under it, of which nothing is written then', async () => {
  const world = await shop({ alone: true })
  const { api, owner, store, keys, sql } = world
  const at = `/v1/user/store/${store.id}`
  const key = await api.post(keys, NEW_KEY, { as: owner.token })
  await api.put(`${at}/customers/c1`, { name: 'Ada' }, { as: owner.token })
  const client = await connect(world)
  const [before] = await sql(`select count(*)::int from events where type <> 'session.ended'`)
  const works = [
    [`${at}/customers/import`, { customers: [{ externalId: 'c1', name: 'Grace' }] }],
    [`${keys}/import`, { keys: [{ ...NEW_KEY, value: 'imported-0123456789' }] }],
    [`${keys}/bulk`, { action: 'disable', ids: [key.body.id] }],
  ] as const
  for (const [path, body] of works) {
    const session = await newSession(world, owner.id)
    await client.query('begin; lock table customers, users, api_keys in share row exclusive mode')
    const asked = api.post(path, body, { as: session.token })
    while ((await sql(WAITING)).length === 0) await sleep(5)
    expect([path, (await api.delete('/v1/user/sessions', { as: owner.token })).status]).toEqual([path, 204])
    await client.query('rollback')
    expect([path, (await asked).status]).toEqual([path, 401])
  }
  expect(await sql(`select count(*)::int from events where type <> 'session.ended'`)).toEqual([before])
})

test('a user of an identity provider who is disabled, or separated from it, changes nothing more, on every route', async () => {
  const provider = await identityProvider()
  const world = await shop(provider.settings)
  const { api, owner, sql } = world
  const ids = await things(world)
  const client = await connect(world)
  const endings = ['disabled_at = now()', 'issuer = null, subject = null']
  /** Whoever is separated from the provider is somebody new to the service, and may do what needs no right. */
  const endingOf = (row: Route, n: number) => endings[isPermission(row) ? n % 2 : 0]
  const eventsOf = () => sql(`select type from events where actor ->> 'id' = $1`, [owner.id])
  const before = await eventsOf()
  // Their account has no session any more that they could end.
  const ends = ['auth.signOut', 'sessions.end', 'sessions.endOthers']
  const others = changes.filter(({ needs, id }) => needs !== 'service' && !ends.includes(id))
  for (const [n, row] of others.entries()) {
    const subject = `owner-${n}`
    const linked = [owner.id, provider.settings.JWT_ISSUER, subject]
    await sql('update users set disabled_at = null, issuer = $2, subject = $3 where id = $1', linked)
    const as = await provider.token(subject)
    // This node knows them.
    expect((await api.get('/v1/user', { as })).body.user.id).toBe(owner.id)
    const { path, body } = requestFor(row, ids, world)
    const ending = `update users set ${endingOf(row, n)} where id = '${owner.id}'`
    const reply = await whileEnding(world, client, ending, () => api.ask(row.method, path, body, { as }))
    expect([nameOf(row), reply.status >= 400], reply.text).toEqual([nameOf(row), true])
  }
  expect(await eventsOf()).toEqual(before)
})

test('a key that is revoked or leaks under its holder’s hands changes nothing more, on every route', async () => {
  const world = await shop({ alone: true })
  const { api, owner, keys, store, sql } = world
  const ids = await things(world)
  const client = await connect(world)
  const endings = ['revoked_at = now(), revision = revision + 1', 'leaked_secret_no = secret_no']
  for (const [n, row] of changes.filter(isPermission).entries()) {
    const key = await api.post(keys, { ...NEW_KEY, permissions: [...BUILT_IN_PERMISSIONS] }, { as: owner.token })
    // This node knows it.
    expect((await api.get('/v1/key', { as: key.body.key })).status).toBe(200)
    const [before] = await sql('select count(*)::int from events')
    const { path, body } = requestFor(row, ids, world)
    const ending = `
      select from stores where id = '${store.id}' for no key update;
      update api_keys set ${endings[n % 2]} where id = '${key.body.id}'`
    const reply = await whileEnding(world, client, ending, () => api.ask(row.method, path, body, { as: key.body.key }))
    expect([nameOf(row), reply.status, reply.body?.code]).toEqual([nameOf(row), 401, 'invalid_token'])
    expect(await sql('select count(*)::int from events')).toEqual([before])
  }
})

test('a key that leaks in its last minutes changes nothing after the report was answered', async () => {
  const world = await shop({ alone: true })
  const { api, owner, keys, store, sql } = world
  await api.patch(`/v1/user/store/${store.id}`, { leakGraceSeconds: 3600 }, { as: owner.token })
  const expiresAt = fromNow(5 * MINUTE).toISOString()
  const spec = { ...NEW_KEY, permissions: ['READ', 'WRITE', 'MANAGE_KEYS'], expiresAt }
  const { key } = (await api.post(keys, spec, { as: owner.token })).body
  expect((await api.get('/v1/key', { as: key })).status).toBe(200)
  // The report and then the requests wait for the store.
  const client = await connect(world)
  await client.query(`begin; select from stores where id = '${store.id}' for no key update`)
  const report = api.post('/v1/leaks', { key })
  while ((await sql(WAITING)).length < 1) await sleep(5)
  const asked = [api.post(keys, spec, { as: key }), api.post(`${keys}/freeze`, {}, { as: key })]
  while ((await sql(WAITING)).length < 3) await sleep(5)
  await client.query('rollback')
  expect((await report).status).toBe(200)
  expect((await Promise.all(asked)).map(({ body }) => body.code)).toEqual(['invalid_token', 'invalid_token'])
})

test('of what two nodes are asked for at once nothing is written after the answer that ended the session', async () => {
  const world = await shop()
  const { api, node, owner, keys, billing, store, sql } = world
  const nodes = [api, await node()]
  const at = `/v1/user/store/${store.id}`
  type Ending = (session: { id: string; token: string }) => Promise<Reply>
  const endings: Ending[] = [
    () => api.delete('/v1/user/sessions', { as: owner.token }),
    ({ token }) => api.post('/v1/auth/sign-out', {}, { as: token }),
    ({ id }) => api.delete(`/v1/user/sessions/${id}`, { as: owner.token }),
  ]
  for (const end of endings) {
    const session = await newSession(world, world.owner.id)
    const as = session.token
    for (const each of nodes) expect((await each.get(keys, { as })).status).toBe(200)
    const asked = Array.from({ length: 48 }, (_, n) => {
      const each = nodes[n % 2] as Shop['api']
      return [
        () => each.post(keys, NEW_KEY, { as }),
        () => each.post(billing, NEW_ADDRESS, { as }),
        () => each.post(`${at}/invitations`, { email: `a${n}@example.com`, role: 'OWNER' }, { as }),
        () => each.post('/v1/user/store', { name: 'Mine' }, { as }),
      ][n % 4]?.()
    })
    const { status } = await end(session)
    // Events that are not visible now, but will be, were committed after the answer.
    const [answered] = await sql(`select array_agg(id) as ids from events where actor ->> 'credential' = $1`, [
      session.id,
    ])
    expect(status).toBe(204)
    const statuses = (await Promise.all(asked)).map((reply) => reply?.status)
    // A slow machine may refuse some: that writes nothing.
    expect(statuses.filter((each) => ![201, 401, 503].includes(each as number))).toEqual([])
    const late = await sql(
      `select type from events where actor ->> 'credential' = $1 and not id = any(coalesce($2, '{}'::text[]))`,
      [session.id, answered.ids],
    )
    expect(late).toEqual([])
  }
})
