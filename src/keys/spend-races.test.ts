// What keys spend, raced at two nodes (tests/spend-races.ts). `npm run stress:spend` runs thousands of races.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newRandom } from '../../tests/random.ts'
import { oneAtATime } from '../../tests/rights-tenant.ts'
import { shop } from '../../tests/shop.ts'
import { raceSpending, spendRaces } from '../../tests/spend-races.ts'

const LIMIT_MS = 3_000

test('whatever keys spend at two nodes at once, the books balance, and retries count once', async () => {
  const { api, node, serverSecret, serviceToken, sql } = await shop()
  const other = await node()
  const urls: [string, string] = [api.url, other.url]
  const nodes = { urls, serverSecret, serviceToken: await serviceToken(null), sql: oneAtATime(sql) }
  const { seed } = newRandom()
  const end = performance.now() + LIMIT_MS
  for (const [n, race] of fc.sample(spendRaces, { seed, numRuns: 30 }).entries()) {
    if (n > 0 && performance.now() > end) break
    const faults = await raceSpending(nodes, race)
    expect(faults, `SEED=${seed}, race ${n}: ${JSON.stringify(race)}`).toEqual([])
  }
})
