import { expect, test } from 'vitest'
import { newMetrics } from './metrics.ts'

test('a request counts as answered whichever way it came', async () => {
  const metrics = newMetrics({} as Parameters<typeof newMetrics>[0], {} as Parameters<typeof newMetrics>[1], [])
  expect(metrics.answered()).toBe(0)
  metrics.request('GET', '/v1/user', 200, 0.01)
  metrics.bufferedCounter('POST', '/v1/keys/verify', 200)(0.001)
  expect(metrics.answered()).toBe(2)
})
