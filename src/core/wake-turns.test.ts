import { expect, onTestFinished, test, vi } from 'vitest'
import { newWakeTurns } from './wake-turns.ts'

function turns() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const woken: string[] = []
  const of = (holder: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({ holder, wake: () => void woken.push(`${holder}${n}`) }))
  return { ...newWakeTurns(), woken, of }
}

test('fifty are woken at a time, and holders take turns', async () => {
  const { add, begin, woken, of } = turns()
  for (const { holder, wake } of [...of('a', 120), ...of('b', 2)]) add(holder, wake)
  begin()
  expect(woken.slice(0, 5)).toEqual(['a0', 'b0', 'a1', 'b1', 'a2'])
  expect(woken).toHaveLength(50)
  // Who comes meanwhile is the next but one.
  for (const { holder, wake } of of('c', 1)) add(holder, wake)
  begin()
  expect(woken).toHaveLength(50)
  await vi.advanceTimersByTimeAsync(5)
  expect(woken.slice(50, 52).toSorted()).toEqual(['a48', 'c0'])
  await vi.advanceTimersByTimeAsync(60_000)
  expect([woken.length, new Set(woken).size]).toEqual([123, 123])
})

test('one that is added again before its turn is woken once, one that is removed never, and after the end none', async () => {
  const { add, remove, begin, close, woken, of } = turns()
  const [first, second] = of('a', 2) as [ReturnType<typeof of>[0], ReturnType<typeof of>[0]]
  for (const { holder, wake } of [first, first, second]) add(holder, wake)
  remove('a', second.wake)
  begin()
  expect(woken).toEqual(['a0'])
  await vi.advanceTimersByTimeAsync(5)
  add('a', first.wake)
  begin()
  expect(woken).toEqual(['a0', 'a0'])
  for (const { holder, wake } of of('b', 60)) add(holder, wake)
  await vi.advanceTimersByTimeAsync(5)
  begin()
  close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(woken.length).toBeLessThanOrEqual(52)
})
