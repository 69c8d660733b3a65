import { expect, test } from 'vitest'
import { leastCpuTime } from '../../tests/cpu-time.ts'
import { isIpAllowed, networkOf, parseRange, rangesWithin } from './ip.ts'

test('ranges lie within others of their family that are as wide at least', () => {
  const wider = ['10.0.0.0/8', '192.0.2.4/32', '2001:db8::/32']
  for (const ranges of [[], ['10.1.0.0/16', '10.0.0.0/8'], ['192.0.2.4/32'], ['2001:db8:1::/48', '10.255.255.255/32']])
    expect(rangesWithin(wider, ranges), ranges.join()).toBe(true)
  for (const range of ['0.0.0.0/0', '10.0.0.0/7', '11.0.0.0/8', '192.0.2.0/24', '2001:db9::/32', '2001::/16', '::/0'])
    expect(rangesWithin(wider, ['10.0.0.0/8', range]), range).toBe(false)
  expect(rangesWithin([], ['10.0.0.0/8'])).toBe(false)
})

test('each of very many ranges is read once, not once for each of the others', () => {
  const ranges = (count: number) => Array.from({ length: count }, (_, n) => `10.${n}.0.0/16`)
  const last = [...ranges(49).map((range) => range.replace('10.', '172.')), '10.0.0.0/8']
  const timeOf = (wider: string[]) =>
    leastCpuTime(10, () => {
      for (let n = 0; n < 50; n++) expect(rangesWithin(wider, ranges(50))).toBe(true)
    })
  // Both once before: code that has just been loaded takes longer.
  for (const wider of [['10.0.0.0/8'], last]) timeOf(wider)
  expect(timeOf(last)).toBeLessThan(10 * timeOf(['10.0.0.0/8']))
})

test('an IPv4 address in IPv6 clothes is that address', () => {
  expect(parseRange('::ffff:192.0.2.7/120')).toBe('192.0.2.0/24')
  expect([isIpAllowed(['192.0.2.0/24'], '::ffff:192.0.2.9'), isIpAllowed(['::/0'], '192.0.2.9')]).toEqual([true, false])
})

test('what is no address is kept as the name of a limit by its beginning only', () => {
  expect(networkOf('x'.repeat(16_000))).toEqual({ place: 'x'.repeat(45), site: null })
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toEqual({ place: '2001:db8:1:2::/64', site: '2001:db8:1::/48' })
})
