import { expect, onTestFinished, test, vi } from 'vitest'
import { runInBatches } from './chore.ts'
import type { Db } from './db.ts'

test('a chore with a long backlog leaves the database to requests two thirds of the time, and ends after a minute', async () => {
  let [ms, worked, rested] = [0, 0, 0]
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms)
  onTestFinished(() => clock.mockRestore())
  const tx = { one: async () => ({ got: true }) } as unknown as Db
  const db = { transaction: (work: (tx: Db) => Promise<unknown>) => work(tx) } as unknown as Db
  await runInBatches(
    db,
    async () => {
      ms += 100
      worked += 100
      return { rows: 1, hasMore: true }
    },
    {
      sleep: async (pause) => {
        ms += pause
        rested += pause
      },
    },
  )
  // The first five seconds are for what there is every day.
  expect(rested).toBe(2 * (worked - 5_000))
  expect(ms).toBeGreaterThanOrEqual(60_000)
  expect(ms).toBeLessThan(61_000)
})
