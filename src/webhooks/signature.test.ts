import { expect, test } from 'vitest'
import { ServerKeys } from '../crypto/keyring.ts'
import { nextTry } from './retry-schedule.ts'
import { mintSigningSecret, openSecret, signedHeaders } from './signature.ts'

test('38. the published example of Standard Webhooks', () => {
  const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
  const at = new Date(1614265330 * 1000)
  expect(signedHeaders([secret], 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, '{"test": 2432232314}')).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('a secret opens under the server secret it was sealed under, for its own webhook only', () => {
  const [older, newer] = [new ServerKeys(Buffer.alloc(32, 1)), new ServerKeys(Buffer.alloc(32, 2))]
  const { secret, kept } = mintSigningSecret({ current: older, previous: null }, 'wh_1')
  const bytes = Buffer.from(secret.reveal().slice('whsec_'.length), 'base64')
  expect(bytes).toHaveLength(32)
  expect(openSecret({ current: newer, previous: older }, 'wh_1', kept)).toEqual(bytes)
  expect(openSecret({ current: newer, previous: null }, 'wh_1', kept)).toBe(null)
  expect(openSecret({ current: older, previous: null }, 'wh_2', kept)).toBe(null)
  expect([`${secret}`, JSON.stringify(secret)]).toEqual(['[secret]', '"[secret]"'])
})

test('each wait is as published, or up to a tenth longer, and the ten tries take 75 hours', () => {
  const at = new Date('2027-01-31T12:00:00Z')
  const wait = (attempts: number, random: number, retryAfter: string | null = null) => {
    const next = nextTry(attempts, at, retryAfter, random)
    return next && (next.getTime() - at.getTime()) / 1000
  }
  const waits = Array.from({ length: 9 }, (_, i) => wait(i + 1, 0) as number)
  expect(waits).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400])
  expect(Math.floor(waits.reduce((sum, step) => sum + step) / 3600)).toBe(75)
  expect([wait(1, 1), wait(9, 1), wait(10, 0)]).toEqual([5.5, 95_040, null])
  expect([wait(1, 0, '60'), wait(2, 0, '60'), wait(1, 0, '-5'), wait(1, 0, '1e9')]).toEqual([60, 300, 5, 5])
  expect([wait(1, 0, '99999999999'), wait(1, 0, 'maybe 3000'), wait(1, 0, 'tomorrow')]).toEqual([86_400, 5, 5])
  expect(wait(1, 0, 'Sun, 31 Jan 2027 13:00:00 GMT')).toBe(3600)
  expect(wait(1, 0, 'Sun, 31 Jan 2028 13:00:00 GMT')).toBe(86_400)
  expect(wait(10, 0, '60')).toBe(null)
})
