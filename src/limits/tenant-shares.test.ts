import { expect, test } from 'vitest'
import { newTenantShares, type TenantShares } from './tenant-shares.ts'

/** Begins requests of these tenants in turn until all of them are refused; how many each has. */
function fill({ enter }: TenantShares, tenants: string[]): number[] {
  const had = tenants.map(() => 0)
  for (let isFull = false; !isFull; ) {
    isFull = true
    for (const [n, tenant] of tenants.entries()) {
      if (!enter(tenant)) continue
      had[n] = (had[n] ?? 0) + 1
      isFull = false
    }
  }
  return had
}

test('a tenant alone may have two thirds of the requests that are begun, and others still have room', () => {
  const shares = newTenantShares(() => 300)
  expect(fill(shares, ['ada'])).toEqual([200])
  const [grace = 0] = fill(shares, ['grace'])
  expect(grace).toBeGreaterThan(50)
  expect(shares.enter('ada')).toBeNull()
  expect(fill(shares, ['alan'])[0]).toBeGreaterThan(20)
})

test('tenants that come together have as many each, and leave room for one more', () => {
  const tenants = Array.from({ length: 10 }, (_, n) => `tenant ${n}`)
  const shares = newTenantShares(() => 300)
  const had = fill(shares, tenants)
  expect(Math.max(...had) - Math.min(...had)).toBeLessThanOrEqual(1)
  expect(had.reduce((sum, each) => sum + each)).toBeLessThan(290)
  expect(shares.enter('another')).not.toBeNull()
})

test('what has ended counts no more, and whoever has few is never refused', () => {
  const shares = newTenantShares(() => 30)
  const leaves = Array.from({ length: 20 }, () => shares.enter('ada'))
  expect(shares.enter('ada')).toBeNull()
  for (const leave of leaves) leave?.()
  expect(fill(shares, ['ada'])).toEqual([20])
  for (const tenant of ['grace', 'alan', 'edsger']) expect(fill(shares, [tenant])).toEqual([10])
})
