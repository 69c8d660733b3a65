import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type LoadShedder, newLoadShedder } from './load-shedding.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test('after a quiet time 300 requests are admitted, and verification at twice as many', () => {
  const load = opened()
  expect(fill(load, 'normal')).toBe(300)
  expect(load.admit('normal')).toBeNull()
  expect(fill(load, 'high')).toBe(300)
  expect(load.admit('always')).not.toBeNull()
  expect(load.inFlight()).toBe(601)
})

test('a node that completes 4,000 requests a second admits as many as it completes in a quarter of one', () => {
  const load = opened()
  complete(load, 4_000, 5_000)
  expect(load.completedPerSecond()).toBeCloseTo(4_000, -2)
  expect(load.room()).toBeGreaterThan(980)
  expect(load.room()).toBeLessThanOrEqual(1_000)
  // When it completes less, it admits less.
  complete(load, 400, 5_000)
  expect(load.room()).toBe(300)
})

test('while the event loop lags, no more than 300 are admitted', () => {
  const load = opened()
  complete(load, 4_000, 5_000)
  const before = load.room()
  // The clock goes on, and the timer comes late.
  vi.setSystemTime(Date.now() + 1)
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 400)
  vi.advanceTimersByTime(50)
  expect(before).toBeGreaterThan(900)
  expect(load.room()).toBe(300)
})

function opened(): LoadShedder {
  const load = newLoadShedder()
  onTestFinished(() => load.close())
  return load
}

function fill(load: LoadShedder, priority: 'normal' | 'high'): number {
  let admitted = 0
  while (load.admit(priority)) admitted += 1
  return admitted
}

function complete(load: LoadShedder, perSecond: number, ms: number): void {
  for (let passed = 0; passed < ms; passed += 10) {
    for (let n = 0; n < perSecond / 100; n++) load.admit('normal')?.release()
    vi.advanceTimersByTime(10)
  }
}
