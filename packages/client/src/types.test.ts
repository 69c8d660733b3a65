// What is meant to compile does, and what is not does not: checked by the compiler, since nothing here is called.

import { expect, test } from 'vitest'
import {
  type ClientOptions,
  isStorekeeperError,
  type Key,
  type StoreEvent,
  type Storekeeper,
  storekeeper,
  type Verdict,
  type WebhookEvent,
} from './index.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_same: Same<A, B>) => {}

async function intended(sk: Storekeeper) {
  const store = sk.store('store_1')
  const permissions = ['READ', 'WRITE'] as const
  const made = await store.keys.create({ name: 'Till', type: 'PROD', permissions, expiresAt: new Date() })
  const secret: string = made.key
  const signal = AbortSignal.timeout(1_000)
  await store.keys.rotate(made.id)
  await store.keys.rotate(
    made.id,
    { gracePeriodSeconds: 60 },
    { idempotencyKey: 'x', ifMatch: made, signal, timeout: 5 },
  )
  await store.keys.revoke(made.id, { reason: secret, made: 'revoke' }, { ifMatch: '"r1"' })
  await store.keys.freeze()
  for await (const key of store.keys.list({ status: 'ACTIVE' })) same<typeof key, Key>(true)
  const { data, from } = await store.keys.storeUsage().page()
  same<typeof from, string>(true)
  const [first] = data
  same<NonNullable<typeof first>['keyId'], string>(true)
  const members: { role: string }[] = await store.members.list().toArray({ max: 10 })
  await store.members.update('user_1', { role: 'STAFF', keys: 'revoke' })
  await store.customers.put('customer-42')
  await store.customers.addresses.readVersion('customer-42', 'addr_1', members.length)
  const nothing: void = await store.webhooks.delete('wh_1')
  const { version } = await sk.request<{ version: string }>('GET', '/version', { query: { a: 1 } })
  return [
    nothing,
    version,
    await sk.stores.read('store_1'),
    await sk.auth.signIn({ email: 'a@example.com', password: 'x' }),
  ]
}

function verdicts(verdict: Verdict) {
  if (verdict.valid) {
    const keyId: string = verdict.keyId
    same<typeof verdict.permissions, string[]>(true)
    same<typeof verdict.code, 'VALID'>(true)
    return keyId
  }
  // Any code of a newer service, beside those that are known.
  const code: string = verdict.code
  // @ts-expect-error: nothing is known of a key that was not found
  const keyId: string = verdict.keyId
  return code === 'RATE_LIMITED' ? verdict.rateLimit?.resetSeconds : keyId
}

function errors(error: unknown) {
  if (isStorekeeperError(error, 'insufficient_permission')) {
    same<typeof error.code, 'insufficient_permission'>(true)
    return error.details.required
  }
  if (isStorekeeperError(error, 'key_not_found', 'store_not_found')) {
    same<typeof error.code, 'key_not_found' | 'store_not_found'>(true)
    // @ts-expect-error: it is one of these two
    return error.code === 'rate_limited'
  }
  // @ts-expect-error: there is no such code
  if (isStorekeeperError(error, 'key_not_fuond')) return null
  return isStorekeeperError(error) && error.code === 'of_a_newer_service' ? error.errors[0]?.pointer : undefined
}

function events(event: StoreEvent | WebhookEvent) {
  switch (event.type) {
    case 'key.rotated':
      return event.data.previousExpiresAt
    case 'key.credits_changed':
      return event.data.to
    // @ts-expect-error: there is no such event
    case 'key.exploded':
      return 0
    default:
      return event.subject
  }
}

async function misuses(sk: Storekeeper) {
  const store = sk.store('store_1')
  const newKey = { name: 'Till', type: 'PROD', permissions: ['READ'] } as const
  // @ts-expect-error: the keys of a store are below the store
  await sk.keys.create(newKey)
  // @ts-expect-error: a name is needed
  await store.keys.create({ type: 'PROD', permissions: ['READ'] })
  // @ts-expect-error: there is no such type of key
  await store.keys.create({ ...newKey, type: 'PRODUCTION' })
  // @ts-expect-error: a member that is not one
  await store.keys.create({ name: 'Till', type: 'PROD', permission: ['READ'], permissions: ['READ'] })
  // @ts-expect-error: what is made is not there to be matched
  await store.keys.create(newKey, { ifMatch: '"r1"' })
  // @ts-expect-error: an id is needed
  await store.keys.read()
  // @ts-expect-error: what only reads needs no Idempotency-Key
  await store.keys.read('key_1', { idempotencyKey: 'x' })
  // @ts-expect-error: a PATCH takes no Idempotency-Key
  await store.keys.update('key_1', {}, { idempotencyKey: 'x' })
  // @ts-expect-error: how many at most has to be said
  await store.keys.list().toArray()
  // @ts-expect-error: a list is no promise of an array
  const all: Key[] = await store.keys.list()
  // @ts-expect-error: there is no such status
  store.keys.list({ status: 'SLEEPING' })
  // @ts-expect-error: the key is what is asked about
  await sk.keys.verify({ permissions: ['READ'] })
  // @ts-expect-error: an answer has no such member
  const { secret } = await store.keys.read('key_1')
  // @ts-expect-error: what is read has no secret
  const { key } = await store.keys.read('key_1')
  // @ts-expect-error: an url is needed
  const none: ClientOptions = { token: 'x' }
  return [all, secret, key, none]
}

test('the intended uses compile, and the misuses do not', async () => {
  expect([intended, verdicts, errors, events, misuses].every((use) => typeof use === 'function')).toBe(true)
  const { value } = Object.getOwnPropertyDescriptor(storekeeper({ url: 'http://x' }), 'url') ?? {}
  expect(value).toBe('http://x')
})
