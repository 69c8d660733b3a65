import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newFairSemaphore } from './fair-semaphore.ts'

function stand(bounds: Partial<Parameters<typeof newFairSemaphore>[0]> = {}) {
  const semaphore = newFairSemaphore({ inside: 1, waiting: 100, waitMs: 60_000, ...bounds })
  const log: string[] = []
  const enter = (account: string) =>
    semaphore.enter(account).then(
      async (leave) => {
        log.push(account)
        await turn()
        leave()
        // A second time counts for nothing.
        leave()
      },
      ({ code }) => void log.push(`${account}: ${code}`),
    )
  return { semaphore, log, enter }
}

test('a few at a time, and of those that wait one of each account after the other', async () => {
  const { semaphore, log, enter } = stand()
  await Promise.all(['ada', 'ada', 'ada', 'ada', 'bob', 'carl', 'bob'].map(enter))
  expect(log).toEqual(['ada', 'bob', 'carl', 'ada', 'bob', 'ada', 'ada'])
  expect(semaphore.waiting()).toBe(0)
  await enter('dora')
  expect(log.at(-1)).toBe('dora')
})

test('whoever has none under way comes before those who have', async () => {
  const { semaphore, log, enter } = stand({ inside: 3, waiting: 2 })
  const leave = await Promise.all(['ada', 'ada', 'bob'].map(semaphore.enter))
  const waiting = ['ada', 'bob', 'carl'].map(enter)
  await turn()
  // For carl, who has less than they, one of ada's is refused.
  expect(log).toEqual(['ada: overloaded'])
  leave[0]?.()
  await turn()
  expect(log).toEqual(['ada: overloaded', 'carl'])
  for (const one of leave) one()
  await Promise.all(waiting)
  expect(log).toEqual(['ada: overloaded', 'carl', 'bob'])
})

test('some places are left for whoever has nothing under way', async () => {
  const { semaphore, log, enter } = stand({ inside: 3, forOthers: 1 })
  const [first, second] = await Promise.all(['ada', 'ada'].map(semaphore.enter))
  const third = enter('ada')
  await turn()
  expect([log, semaphore.waiting()]).toEqual([[], 1])
  await enter('bob')
  expect([log, semaphore.waiting()]).toEqual([['bob'], 1])
  const leaveCarl = await semaphore.enter('carl')
  first?.()
  await turn()
  expect(log).toEqual(['bob'])
  leaveCarl()
  await third
  expect(log).toEqual(['bob', 'ada'])
  second?.()
})

test('somebody and the keys of their stores are one tenant, for whom no place is left', async () => {
  const { semaphore, log, enter } = stand({
    inside: 3,
    forOthers: 1,
    tenantOf: (account) => account.replace('keys of ', ''),
  })
  const [first, second] = await Promise.all(['ada', 'ada'].map(semaphore.enter))
  const keys = enter('keys of ada')
  await turn()
  expect([log, semaphore.waiting()]).toEqual([[], 1])
  const leaveBob = await semaphore.enter('bob')
  const carl = enter('carl')
  first?.()
  await carl
  expect(log).toEqual(['carl'])
  leaveBob()
  await keys
  expect(log).toEqual(['carl', 'keys of ada'])
  second?.()
})

test('whoever waits comes before tenants who have just had their turn, with however many accounts', async () => {
  const { semaphore, log, enter } = stand({ tenantOf: (account) => account.replace('keys of ', '') })
  const leave = await semaphore.enter('ada')
  const busy = ['ada', 'keys of ada', 'bob', 'keys of bob']
  const waiting = [...busy, ...busy, 'carl'].map(enter)
  leave()
  await Promise.all(waiting)
  expect(log.slice(0, 3)).toEqual(['bob', 'carl', 'ada'])
  expect(log.indexOf('keys of ada')).toBeLessThan(log.lastIndexOf('ada'))
})

test('when too many wait, the account that has most under way and waiting is refused', async () => {
  const { log, enter } = stand({ waiting: 3 })
  await Promise.all(['ada', 'ada', 'ada', 'ada', 'ada', 'bob', 'carl', 'dora'].map(enter))
  expect(log.filter((line) => line.includes(':'))).toEqual([
    'ada: overloaded',
    'ada: overloaded',
    'ada: overloaded',
    'ada: overloaded',
  ])
  expect(log.filter((line) => !line.includes(':'))).toEqual(['ada', 'bob', 'carl', 'dora'])
})

test('whoever has waited too long is refused, and takes nobody’s turn', async () => {
  const { semaphore, log, enter } = stand({ waitMs: 10 })
  const leave = await semaphore.enter('ada')
  await enter('bob')
  expect([log, semaphore.waiting()]).toEqual([['bob: overloaded'], 0])
  leave()
  await enter('carl')
  expect(log).toEqual(['bob: overloaded', 'carl'])
})
