// Fake timers for one part of the code alone. The tests of a worker share a service, whose connections and rounds go by
// timers of the same process: an hour that passes for the part under test does not pass for them.

import { onTestFinished, vi } from 'vitest'

/** Fakes `setTimeout` where it is called from a file below `path`, until the test is over. */
export function fakeTimersOf(path: string): void {
  const real = globalThis.setTimeout
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const fake = globalThis.setTimeout
  // The first line of a stack is the message; then come this function, the one below it, and whoever calls that.
  const isTheirs = () => new Error().stack?.split('\n')[3]?.includes(path)
  const either = (...given: Parameters<typeof setTimeout>) => (isTheirs() ? fake : real)(...given)
  vi.stubGlobal('setTimeout', either)
  onTestFinished(() => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })
}
