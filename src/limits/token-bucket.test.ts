import { expect, onTestFinished, test, vi } from 'vitest'
import { newRateLimits, newServiceRateLimit } from './token-bucket.ts'

function allowed(ips: string[]): number {
  const limits = newRateLimits(600)
  return ips.filter((ip) => limits?.takeForAddress(ip).allowed).length
}

test('an address of IPv6 is its /64, a /48 has ten times as much, and an IPv4 address in IPv6 clothes is itself', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const many = (count: number, ip: (n: string) => string) =>
    Array.from({ length: count }, (_, n) => ip((n + 1).toString(16)))
  expect(allowed(many(100, (n) => `2001:db8:1:1::${n}`))).toBe(60)
  expect(allowed(many(1_000, (n) => `2001:db8:1:${n}::1`))).toBe(600)
  expect(allowed(many(1_000, (n) => `2001:db8:${n}::1`))).toBe(1_000)
  expect(allowed(many(100, (n) => `203.0.113.${Number.parseInt(n, 16)}`))).toBe(100)
  expect(allowed([...many(40, () => '203.0.113.7'), ...many(40, () => '::ffff:203.0.113.7')])).toBe(60)
  expect(allowed(many(100, (n) => `fe80::${n}%eth0`))).toBe(60)
})

test('however much is stored beyond the limit, whoever stores it waits for a minute', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const storage = newRateLimits(1)?.storageOf('user_1')
  for (let n = 0; n < 100; n++) storage?.charge(10_000)
  expect(storage?.check()).toMatchObject({ allowed: false, resetSeconds: 60 })
})

test('all service tokens of a store together get ten times the limit of one', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { take } = newServiceRateLimit(6)
  const allowedOf = (storeId: string | null) =>
    Array.from({ length: 20 }, (_, n) => `${storeId} ${n}`)
      .flatMap((token) => Array.from({ length: 10 }, () => take(token, storeId)?.allowed ?? true))
      .filter(Boolean).length
  expect(['store_1', 'store_2', null].map(allowedOf)).toEqual([60, 60, 200])
})
