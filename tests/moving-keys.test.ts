// Keys of other systems, hashed exactly as those do, work here: what docs/guides/moving-keys.md promises.

import { expect, test } from 'vitest'
import { type BetterAuthKey, toLine } from '../scripts/better-auth-key.ts'
import { serviceClient } from './service-client.ts'
import { NEW_KEY, shop } from './shop.ts'

const digest = async (text: string) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))
/** As better-auth's defaultKeyHasher: base64url without padding. */
const betterAuthHash = async (key: string) =>
  base64(await digest(key))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
/** As Unkey's hash.Sha256: base64.StdEncoding. */
const unkeyHash = async (key: string) => base64(await digest(key))

const ROW: BetterAuthKey = {
  id: 'ba-1',
  name: null,
  key: '',
  referenceId: 'user-7',
  enabled: true,
  expiresAt: null,
  remaining: null,
  refillAmount: null,
  refillInterval: null,
  rateLimitEnabled: true,
  rateLimitMax: 10,
  rateLimitTimeWindow: 86_400_000,
  permissions: '{"orders":["read"]}',
  metadata: '"{\\"plan\\":\\"pro\\"}"',
}
const DEFAULTS = { type: 'PROD', permissions: ['READ'], plain: false }

test('the hashes of better-auth and Unkey are those of known values', async () => {
  expect(await unkeyHash('test')).toBe('n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=')
  expect(await betterAuthHash('test')).toBe('n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg')
})

test('keys of better-auth and of Unkey verify here, with what they had there', async () => {
  const world = await shop()
  const back = await serviceClient(world)
  const letters = () =>
    Array.from(crypto.getRandomValues(new Uint8Array(64)), (n) => String.fromCharCode(97 + (n % 26))).join('')
  const [ours, plain, unkey] = [letters(), `acme_${letters()}`, `unkey_${letters().slice(0, 22)}`] as [
    string,
    string,
    string,
  ]
  const refilled = { remaining: 3, refillAmount: 100, refillInterval: 30 * 86_400_000 }
  const lines = [
    toLine({ ...ROW, key: await betterAuthHash(ours), ...refilled }, DEFAULTS, new Date()).line,
    toLine({ ...ROW, key: plain, referenceId: null, userId: 'user-8' }, { ...DEFAULTS, plain: true }, new Date()).line,
    { ...NEW_KEY, sha256: await unkeyHash(unkey) },
  ]
  const { body } = await world.api.post(`${world.keys}/import`, { keys: lines }, { as: world.owner.token })
  expect(body.results.map(({ status }: { status: string }) => status)).toEqual(['created', 'created', 'created'])
  expect((await back.verify(ours)).body).toMatchObject({
    code: 'VALID',
    name: 'better-auth ba-1',
    owner: 'user-7',
    metadata: { plan: 'pro', betterAuthPermissions: { orders: ['read'] } },
    credits: { remaining: 2, refillsAt: expect.stringMatching(/-01T00:00:00.000Z$/) },
    rateLimit: { limit: 10, remaining: 9 },
  })
  expect((await back.verify(plain)).body).toMatchObject({ code: 'VALID', owner: 'user-8' })
  expect((await back.verify(unkey)).body).toMatchObject({ code: 'VALID', name: NEW_KEY.name })
})

test('a key that cannot be kept as it is, is skipped with the reason', () => {
  const why = (change: Partial<BetterAuthKey>) => toLine({ ...ROW, ...change }, DEFAULTS, new Date()).skipped
  expect(why({})).toBeNull()
  expect(why({ rateLimitEnabled: false, rateLimitTimeWindow: 1e12 })).toBeNull()
  expect(why({ expiresAt: new Date(0) })).toContain('expired')
  expect(why({ rateLimitTimeWindow: 86_400_001 })).toContain('86400001 ms')
  expect(why({ remaining: 1, refillAmount: 5, refillInterval: 60_000 })).toContain('60000 ms')
})
