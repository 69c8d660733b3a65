// The service as a process, with more to do than it can: a short form of `npm run stress:overload`. What counts is held
// against what the same service did a moment before, on the same machine.

import { expect, test } from 'vitest'
import { overload, postRequest, sustainedRate } from '../bench/stress/overload-run.ts'
import { LONG, launch, runFromCheckout, start } from './launch.ts'
import { openShop, report } from './process-load.ts'
import { apiAt, NEW_KEY, type Person } from './shop.ts'

runFromCheckout({ build: 'copied' })

test('with five times the load that it can sustain, it does what it can, refuses the rest with Retry-After, and goes on verifying', {
  timeout: LONG,
}, async () => {
  const { url, pid, data } = await start()
  const shop = await openShop(url)
  const { key } = (await apiAt(url).post(shop.keys, NEW_KEY, { as: (shop.people[0] as Person).token })).body
  const minting = launch({ data, command: ['service-token', 'create', 'Overload'] })
  await minting.ended()
  const target = {
    url,
    pid,
    creates: shop.people.map(({ token }) => postRequest(url, shop.keys, token, JSON.stringify(NEW_KEY))),
    verify: postRequest(url, '/v1/keys/verify', minting.out().trim(), JSON.stringify({ key })),
  }
  await sustainedRate(target, 1, false)
  const sustained = await sustainedRate(target, 2, false)
  const crowd = { perSecond: 5 * sustained, seconds: 4, connections: 1_500, fresh: false, sustained }
  const result = await overload(target, crowd)
  report('overload', { sustained, ...result })
  expect(result).toMatchObject({ withoutRetryAfter: 0, resets: 0, unanswered: 0, otherStatuses: {} })
  expect(result.refusedPerSecond).toBeGreaterThan(0)
  expect(result.goodput).toBeGreaterThan(0.3 * sustained)
  expect(result.verify.p50).toBeLessThan(result.accepted.p50)
})
