// The client against the service.

import { expect, onTestFinished, test } from 'vitest'
import { newRandom } from '../../../tests/random.ts'
import { NEW_ADDRESS, NEW_KEY, type Shop, shop } from '../../../tests/shop.ts'
import { etagOf, isStorekeeperError, type Storekeeper, storekeeper } from './index.ts'

const clientOf = ({ api, owner, store }: Shop, more: object = {}): Storekeeper =>
  storekeeper({ url: api.url, token: owner.token, storeId: store.id, ...more })
/** A question has two seconds otherwise, and a busy machine may take longer. */
const PATIENCE = { timeout: 60_000 }

test('a key is created, found, changed, rotated, verified, revoked', async () => {
  const opened = await shop()
  const sk = clientOf(opened)
  const { keys } = sk.store()
  const made = await keys.create({
    ...NEW_KEY,
    type: 'PROD',
    owner: 'customer/42',
    expiresAt: new Date('2033-01-31T12:00:00Z'),
  })
  expect(made).toMatchObject({ key: expect.stringMatching(/^skp_prod_/), expiresAt: '2033-01-31T12:00:00.000Z' })
  const read = await keys.read(made.id)
  expect(etagOf(read)).toBe('"r1"')
  expect(await keys.list({ status: 'ACTIVE' }).page()).toEqual({ data: [read], nextCursor: null })
  await keys.update(made.id, { name: 'Till' }, { ifMatch: read })
  const stale = await keys.update(made.id, { name: 'Other' }, { ifMatch: read }).catch((error) => error)
  expect(isStorekeeperError(stale, 'precondition_failed')).toBe(true)
  await expect(keys.update(made.id, {}, { ifMatch: { ...read } })).rejects.toThrow('ifMatch')
  const rotated = await keys.rotate(made.id, { gracePeriodSeconds: 60 })
  expect((await keys.rotate(made.id)).key).not.toBe(rotated.key)

  const backEnd = clientOf(opened, { token: await opened.serviceToken(null) })
  const verdict = await backEnd.keys.verify({ key: made.key, permissions: ['READ'] }, PATIENCE)
  expect(verdict).toMatchObject({ valid: false, code: 'NOT_FOUND' })
  expect(await backEnd.keys.introspect({ token: rotated.key, store_id: opened.store.id })).toMatchObject({
    active: false,
  })
  const frozen = await keys.freeze()
  expect(frozen).toEqual({ affected: 1 })
  const revoked = await keys.revoke(made.id, { reason: 'lost', made: 'keep' })
  expect(revoked).toMatchObject({ status: 'REVOKED', revocationReason: 'lost' })
  expect((await keys.usage(made.id, { interval: 'day' })).interval).toBe('day')
  await sk.close()
  await expect(sk.store().keys.read(made.id)).rejects.toMatchObject({ code: 'closed' })
})

test('a secret whose answer is lost comes with the next try, or when it is asked for again', async () => {
  const opened = await shop()
  let losing = 1
  const losesAnswers: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    if (losing-- > 0) throw new TypeError('fetch failed')
    return response
  }
  const { keys } = clientOf(opened, { fetch: losesAnswers }).store()
  const first = await keys.create({ ...NEW_KEY, type: 'PROD' })
  losing = 3
  const error = await keys.rotate(first.id).catch((reason) => reason)
  if (!isStorekeeperError(error, 'connection_failed')) throw error
  const rotated = await keys.rotate(first.id, undefined, { idempotencyKey: error.idempotencyKey })
  const [only, ...others] = await keys.list().toArray({ max: 10 })
  expect([only?.id, only?.start, others]).toEqual([first.id, rotated.key.slice(0, rotated.start.length), []])
  const backEnd = clientOf(opened, { token: await opened.serviceToken() })
  expect(await backEnd.keys.verify({ key: rotated.key }, PATIENCE)).toMatchObject({ valid: true, keyId: first.id })
  const events = await clientOf(opened).store().events.list({ type: 'key.*' }).toArray({ max: 10 })
  expect(events.map(({ type }) => type)).toEqual(['key.rotated', 'key.created'])
})

test('customers, their addresses, holds, members and keys in numbers', async () => {
  const opened = await shop()
  const sk = clientOf(opened)
  const store = sk.store()
  const customer = await store.customers.put('shop/42', { email: 'ada@example.com' })
  expect(customer).toMatchObject({ externalId: 'shop/42' })
  const address = await store.customers.addresses.create('shop/42', NEW_ADDRESS)
  const held = await store.invoicing.hold(address.id, 1, {
    until: new Date('2033-01-31T12:00:00Z'),
    reason: 'Invoice 7',
  })
  expect(held).toMatchObject({ version: 1 })
  await store.invoicing.release(address.id, 1)
  await store.customers.addresses.delete('shop/42', address.id, { ifMatch: address })
  const { results } = await store.keys.import({ keys: [{ ...NEW_KEY, type: 'DEV', value: 'acme_live_8fK2mQ7xZ1pL' }] })
  expect(results).toMatchObject([{ status: 'created' }])
  const { id } = await store.keys.create({ ...NEW_KEY, type: 'TEST', credits: { remaining: 5 } })
  expect((await store.keys.changeCredits(id, { add: 3 })).credits).toEqual({ remaining: 8, refill: null })
  expect(await store.keys.bulk({ action: 'disable', ids: [id] })).toMatchObject({ results: [{ id }] })
  expect((await store.keys.list().page()).data.map(({ status }) => status).toSorted()).toEqual(['ACTIVE', 'DISABLED'])
  const found = await store.members.list().toArray({ max: 5 })
  expect(found.map(({ role }) => role)).toEqual(['OWNER'])
  expect((await sk.stores.read(store.id)).name).toBe('The shop')
  const error = await store.keys.create({ ...NEW_KEY, type: 'PROD', name: '' }).catch((reason) => reason)
  expect(error).toMatchObject({ code: 'invalid_input', errors: [{ pointer: '#/name' }] })
})

test('whatever happens is told once and in order, though the connection breaks again and again', async () => {
  const opened = await shop()
  const { seed, next } = newRandom()
  let connections = 0
  /**
   * Breaks each stream within its first 3,000 bytes, so a stream never tells all 30 events, which are longer, however
   * many come in one piece. The wait that the service asks for is cut short.
   */
  const breaks: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    if (!String(url).includes('/stream') || !response.body) return response
    connections += 1
    let left = Math.floor(next() * 3000)
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const text = Buffer.from(chunk)
          .toString()
          .replace(/^retry: \d+/, 'retry: 10')
        const bytes = new TextEncoder().encode(text)
        controller.enqueue(bytes.slice(0, left))
        left -= bytes.length
        if (left <= 0) controller.terminate()
      },
    })
    return new Response(response.body.pipeThrough(cut), response)
  }
  const sk = clientOf(opened, { fetch: breaks })
  onTestFinished(() => sk.close())
  const store = sk.store()
  const following = store.events.follow({ type: 'key.*' })
  const told: string[] = []
  const all = (async () => {
    for await (const event of following) {
      if (event.type === 'key.created') told.push(event.data.name)
      if (told.length === 30) return
    }
  })()
  // Nothing is missed from here on, be it before the first connection.
  await expect.poll(() => connections).toBeGreaterThan(0)
  const names = Array.from({ length: 30 }, (_, i) => `Key ${i}`)
  for (const name of names) await store.keys.create({ ...NEW_KEY, type: 'TEST', name })
  await all
  expect(told, `SEED=${seed}`).toEqual(names)
  expect(connections).toBeGreaterThan(2)
})

test('an export is read as it comes, and a refusal is an error like any other', async () => {
  const opened = await shop()
  const sk = clientOf(opened)
  const text = await new Response(await sk.user.download()).text()
  expect(JSON.parse(text)).toMatchObject({ user: { id: opened.owner.id }, memberships: [{ storeId: opened.store.id }] })
  const ending = new AbortController()
  const ended = await sk.user.download({ signal: ending.signal })
  ending.abort()
  await expect(new Response(ended).text()).rejects.toThrow()
  const nobody = clientOf(opened, { token: 'skp_sess_unknown' })
  await expect(nobody.user.download()).rejects.toMatchObject({ code: 'invalid_token', status: 401 })
})
