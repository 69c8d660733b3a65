// Wakes many who wait for the same thing, such as the streams of a store: a few at a time, with the rest of the node's work in
// between. Whoever has many of them waits longest: holders take turns.

const AT_ONCE = 50
/** A woken stream takes some 40 µs, mostly for writing: 50 of them two milliseconds. */
const PAUSE_MS = 5

export type WakeTurns = {
  /** To be woken once, however often it is added before. */
  add(holder: string, wake: () => void): void
  remove(holder: string, wake: () => void): void
  /** Wakes the first of them now. */
  begin(): void
  close(): void
}

export function newWakeTurns(): WakeTurns {
  const waiting = new Map<string, Set<() => void>>()
  let timer: NodeJS.Timeout | null = null

  function takeNext(): (() => void) | null {
    for (const [holder, wakes] of waiting) {
      waiting.delete(holder)
      const [wake] = wakes
      if (!wake) continue
      wakes.delete(wake)
      // The holder is last now.
      if (wakes.size > 0) waiting.set(holder, wakes)
      return wake
    }
    return null
  }

  function begin(): void {
    if (timer) return
    for (let n = 0; n < AT_ONCE; n++) {
      const wake = takeNext()
      if (!wake) return
      wake()
    }
    timer = setTimeout(() => {
      timer = null
      begin()
    }, PAUSE_MS)
  }

  return {
    add(holder, wake) {
      const wakes = waiting.get(holder) ?? new Set()
      waiting.set(holder, wakes.add(wake))
    },
    remove: (holder, wake) => void waiting.get(holder)?.delete(wake),
    begin,
    close() {
      if (timer) clearTimeout(timer)
      waiting.clear()
    },
  }
}
