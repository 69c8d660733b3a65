// Holds: a version that a store must keep stays readable until its end, whatever becomes of its user and of the store.

import { expect, test } from 'vitest'
import { call } from '../../tests/command.ts'
import { NEW_ADDRESS, NEW_KEY, shop } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { DAY, fromNow, travel } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { purgeStores } from '../stores/purge.ts'
import { endHolds } from './holds.ts'

const inDays = (days: number) => fromNow(days * DAY).toISOString()

async function opened(settings: Parameters<typeof shop>[0] = {}) {
  const world = await shop(settings)
  const { api, store, keys, owner, billing, member } = world
  const ada = await member('CUSTOMER')
  const { body: address } = await api.post(billing, NEW_ADDRESS, { as: ada.token })
  const path = `/v1/user/store/${store.id}/billing/${address.id}/versions`
  const { body: key } = await api.post(
    keys,
    { ...NEW_KEY, permissions: ['READ', 'MANAGE_ORDERS'] },
    { as: owner.token },
  )
  return { ...world, ada, address, path, key, by: { as: key.key as string }, as: { as: owner.token } }
}

test('a version on hold outlives the erasure of its user, who is told; the others do not', async () => {
  const { api, ada, address, billing, path, key, by, as, store, sql } = await opened()
  await api.patch(`${billing}/${address.id}`, { city: 'Palo Alto' }, { as: ada.token })
  const until = inDays(3_650)
  const held = await api.post(`${path}/1/hold`, { reason: ' Invoice 42 ', until }, by)
  const hold = { reason: 'Invoice 42', until, by: { kind: 'key', id: key.id }, at: held.body.hold.at }
  expect(held.status).toBe(200)
  expect(held.body).toMatchObject({ version: 1, address: { city: 'Cupertino', erased: false }, hold })
  expect((await api.get(`${path}/1`, by)).body).toEqual(held.body)
  expect((await api.get(path, by)).body.data.map((version: any) => version.hold)).toEqual([null, hold])
  expect((await api.get(`${billing}/${address.id}/versions/1`, { as: ada.token })).body.hold).toEqual(hold)
  const stays = { addressId: address.id, version: 1, reason: 'Invoice 42', until }
  expect((await api.get('/v1/user/export', { as: ada.token })).body.addressHolds).toEqual([
    { storeId: store.id, ...stays },
  ])

  const erased = await api.delete('/v1/user', { as: ada.token })
  expect([erased.status, erased.body.held]).toEqual([200, [stays]])
  const versions = (await api.get(path, by)).body.data
  expect(versions).toEqual([
    expect.objectContaining({ version: 2, hold: null, address: expect.objectContaining({ erased: true, city: null }) }),
    held.body,
  ])
  expect((await api.get(`/v1/user/store/${store.id}/billing/${address.id}`, by)).body.erased).toBe(true)
  const late = await api.post(`${path}/2/hold`, { reason: 'Too late', until }, by)
  expect([late.status, late.body.code]).toEqual([409, 'version_erased'])

  // The hold is as they were told: it can end sooner, and does when it is told to, but neither later nor for another reason.
  for (const changed of [{ until: inDays(3_651) }, { reason: 'Another' }, { reason: 'Another', until: inDays(1) }]) {
    const refused = await api.post(`${path}/1/hold`, { reason: 'Invoice 42', until, ...changed }, as)
    expect([refused.status, refused.body.code], JSON.stringify(changed)).toEqual([409, 'version_erased'])
  }
  expect((await api.get(`${path}/1`, by)).body).toEqual(held.body)
  const sooner = { reason: 'Invoice 42', until: inDays(1) }
  expect((await api.post(`${path}/1/hold`, sooner, as)).body).toMatchObject({
    hold: { ...sooner, by: { kind: 'user' } },
    address: { city: 'Cupertino' },
  })
  expect((await api.delete(`${path}/1/hold`, by)).status).toBe(204)
  expect((await api.get(`${path}/1`, by)).body).toMatchObject({ hold: null, address: { erased: true, formatted: [] } })
  expect((await api.delete(`${path}/1/hold`, by)).body.code).toBe('hold_not_found')
  expect(await sql('select from address_holds where address_id = $1', [address.id])).toEqual([])
  const events = (await api.get(`/v1/user/store/${store.id}/events?type=address.held,address.released`, as)).body.data
  expect(events.map(({ type, subject, data }: any) => [type, subject, data])).toEqual([
    ['address.released', address.id, { version: 1 }],
    ['address.held', address.id, { version: 1, until: sooner.until }],
    ['address.held', address.id, { version: 1, until }],
  ])
  expect(JSON.stringify(events)).not.toContain('Invoice')
})

test('403, 404, 422: who may hold, what, and for how long', async () => {
  const { api, path, by, as, store, address, keys, member } = await opened()
  const spec = { reason: 'Invoice 42', until: inDays(1) }
  const { body: reader } = await api.post(keys, { ...NEW_KEY, permissions: ['READ', 'MANAGE_CUSTOMERS'] }, as)
  const clerk = await member('STAFF')
  for (const who of [reader.key, clerk.token])
    expect((await api.post(`${path}/1/hold`, spec, { as: who })).body.required).toEqual(['MANAGE_ORDERS'])
  expect((await api.post(`${path}/2/hold`, spec, by)).body.code).toBe('version_not_found')
  expect((await api.post(`${path.replace(address.id, newId('addr'))}/1/hold`, spec, by)).body.code).toBe(
    'address_not_found',
  )
  const refused = async (given: object) => {
    const { status, body } = await api.post(`${path}/1/hold`, given, by)
    return [status, ...body.errors.map(({ pointer, code }: any) => `${pointer} ${code}`)]
  }
  expect(await refused({})).toEqual([422, '#/reason required', '#/until required'])
  expect(await refused({ ...spec, reason: ' ' })).toEqual([422, '#/reason too_short'])
  expect(await refused({ ...spec, reason: 'x'.repeat(201) })).toEqual([422, '#/reason too_long'])
  expect(await refused({ ...spec, until: inDays(-1) })).toEqual([422, '#/until not_in_future'])
  expect(await refused({ ...spec, until: inDays(5_480) })).toEqual([422, '#/until too_far'])
  expect((await api.post(`${path}/1/hold`, { ...spec, until: inDays(5_478.9) }, by)).status).toBe(200)
  expect(store.id).toBe(address.storeId)
})

test('the versions of a customer whom the store keeps are held too', async () => {
  const { api, as, store } = await opened()
  const customer = `/v1/user/store/${store.id}/customers/42`
  await api.put(customer, {}, as)
  const { body: address } = await api.post(`${customer}/billing`, NEW_ADDRESS, as)
  const path = `/v1/user/store/${store.id}/billing/${address.id}/versions/1`
  const spec = { reason: 'Invoice 42', until: inDays(30) }
  await api.post(`${path}/hold`, spec, as)
  const stays = { addressId: address.id, version: 1, ...spec }
  expect((await api.get(`${customer}/export`, as)).body.holds).toEqual([{ storeId: store.id, ...stays }])
  expect((await api.delete(customer, as)).body).toEqual({ held: [stays], keys: [] })
  expect((await api.get(path, as)).body).toMatchObject({ hold: spec, address: { lastName: 'Lovelace' } })
})

test('a hold ends by itself, to the moment; one of a store that is gone can be exported until then', async () => {
  const world = await opened({ alone: true })
  const { api, ada, path, address, as, store, service, sql, databaseUrl, serverSecret } = world
  await api.post(`${path}/1/hold`, { reason: 'Invoice 42', until: inDays(40) }, as)
  const { body: held } = await api.get(`${path}/1`, as)
  await api.delete('/v1/user', { as: ada.token })
  await api.delete(`/v1/user/store/${store.id}`, as)
  travel(31 * DAY)
  await purgeStores(service.db)
  await endHolds(service.db)
  expect(await sql('select from address_versions where store_id = $1', [store.id])).toEqual([])
  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: serverSecret }
  for (const which of [store.id, '--all']) {
    const { code, lines } = await call(run, ['holds', 'export', which], { env })
    expect([code, lines.map((line) => JSON.parse(line))]).toEqual([0, [held]])
  }
  expect((await call(run, ['holds', 'export', newId('store')], { env })).lines).toEqual([])
  expect((await call(run, ['holds', 'export'], { env })).code).toBe(1)

  travel(10 * DAY)
  expect((await call(run, ['holds', 'export', '--all'], { env })).lines).toEqual([])
  await endHolds(service.db)
  expect(await sql('select from address_holds')).toEqual([])
  const [event] = await sql(`select actor, subject, data from events where type = 'address.released'`)
  expect(event).toMatchObject({ actor: { kind: 'system' }, subject: address.id, data: { version: 1 } })
})
