// Changes of a store wait for its lock, each with a connection of its own, and there are few of these. So whoever shares a
// lock, such as the requests that change one store, has a few connections at a time. The others wait here, for as long as
// they would have waited for the lock.

import { Failure } from '../core/errors.ts'

/** One that works, and others that are ready to: all of them together are much less than all connections. */
export const MAX_RUNNING = 3
const MAX_WAITING = 200
const WAIT_MS = 2_000

/** Runs the work when it is the holder's turn. */
export type Turns = <T>(holder: string, work: () => Promise<T>) => Promise<T>

type Line = { running: number; waiting: Set<() => void> }

export function newTurns(waitMs = WAIT_MS): Turns {
  /** Of those who have any running. */
  const lines = new Map<string, Line>()

  async function enter(holder: string): Promise<Line> {
    const line = lines.get(holder) ?? { running: 0, waiting: new Set() }
    lines.set(holder, line)
    if (line.running < MAX_RUNNING) line.running += 1
    else if (line.waiting.size < MAX_WAITING) await waitIn(line)
    else throw tooLong()
    return line
  }

  function waitIn({ waiting }: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timeout)
        resolve()
      }
      const timeout = setTimeout(() => {
        waiting.delete(begin)
        reject(tooLong())
      }, waitMs)
      waiting.add(begin)
    })
  }

  /** The next one takes the place. */
  function leave(holder: string, line: Line): void {
    for (const next of line.waiting) {
      line.waiting.delete(next)
      return next()
    }
    line.running -= 1
    if (line.running === 0) lines.delete(holder)
  }

  return async (holder, work) => {
    const line = await enter(holder)
    try {
      return await work()
    } finally {
      leave(holder, line)
    }
  }
}

const tooLong = () => new Failure('unavailable', { retryAfterSeconds: 1 })
