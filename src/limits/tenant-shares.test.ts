import { expect, test } from 'vitest'
import { newTenantShares } from './tenant-shares.ts'

type Shares = { enter(tenant: string, account?: string): (() => void) | null }

function sharesOf(limit: number): Shares {
  const { enter } = newTenantShares(() => limit)
  return { enter: (tenant, account = tenant) => enter(tenant, account) }
}

/** Begins requests of these tenants in turn until all of them are refused; how many each has. */
function fill({ enter }: Shares, tenants: string[]): number[] {
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
  const shares = sharesOf(300)
  expect(fill(shares, ['ada'])).toEqual([200])
  const [grace = 0] = fill(shares, ['grace'])
  expect(grace).toBeGreaterThan(50)
  expect(shares.enter('ada')).toBeNull()
  expect(fill(shares, ['alan'])[0]).toBeGreaterThan(20)
})

test('tenants that come together have as many each, and leave room for one more', () => {
  const tenants = Array.from({ length: 10 }, (_, n) => `tenant ${n}`)
  const shares = sharesOf(300)
  const had = fill(shares, tenants)
  expect(Math.max(...had) - Math.min(...had)).toBeLessThanOrEqual(1)
  expect(had.reduce((sum, each) => sum + each)).toBeLessThan(290)
  expect(shares.enter('another')).not.toBeNull()
})

test('what has ended counts no more, and whoever has few is never refused', () => {
  const shares = sharesOf(30)
  const leaves = Array.from({ length: 20 }, () => shares.enter('ada'))
  expect(shares.enter('ada')).toBeNull()
  for (const leave of leaves) leave?.()
  expect(fill(shares, ['ada'])).toEqual([20])
  for (const tenant of ['grace', 'alan', 'edsger']) expect(fill(shares, [tenant])).toEqual([10])
})

test('people are not refused for what their keys have under way', () => {
  const { enter } = sharesOf(30)
  for (let n = 0; n < 20; n++) enter('ada', 'keys of ada')
  expect(enter('ada', 'keys of ada')).toBeNull()
  const leaves = Array.from({ length: 10 }, () => enter('ada', 'ada'))
  expect(leaves).not.toContain(null)
  expect(enter('ada', 'ada')).toBeNull()
})
