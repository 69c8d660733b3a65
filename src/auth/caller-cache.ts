// Who was known a moment ago. A caller who sends many requests is looked up once in a while, not for each of them; what
// was taken away is refused at once by the node that took it away, and by every other node when the moment is over.
// Nothing has to arrive for that: no message between nodes, no clock but this process's own.
//
// What is kept is what the database said, not what followed from it: whether a session or a key has ended is asked anew
// at every use.

/** Every node refuses within 250 ms; this leaves 50 for the question itself. */
export const CALLER_TTL_MS = 200
const MAX_CALLERS = 10_000

/** Which changes there were, and when, as a question was asked. */
type Generation = { changes: number; at: number }

export type CallerCache<Found> = {
  get(name: string): Found | undefined
  /** True once in the second half of the moment: whoever hears it may ask anew beside the request, so that nobody waits. */
  needsRefresh(name: string): boolean
  /** `since` is what `mark()` said before the question was asked: an answer older than a change is not kept. */
  set(name: string, found: Found, since: Generation): void
  generation(): Generation
  /** After every change that may touch what anyone may do. */
  invalidate(): void
}

export function newCallerCache<Found>(): CallerCache<Found> {
  const entries = new Map<string, { found: Found; until: number; old: boolean }>()
  let changes = 0
  return {
    get(name) {
      const entry = entries.get(name)
      if (entry && entry.until > performance.now()) return entry.found
      if (entry) entries.delete(name)
      return undefined
    },
    needsRefresh(name) {
      const entry = entries.get(name)
      if (!entry || entry.old || entry.until - performance.now() > CALLER_TTL_MS / 2) return false
      entry.old = true
      return true
    },
    set(name, found, since) {
      if (since.changes !== changes) return
      if (entries.size >= MAX_CALLERS) entries.clear()
      entries.set(name, { found, until: since.at + CALLER_TTL_MS, old: false })
    },
    generation: () => ({ changes, at: performance.now() }),
    invalidate() {
      changes += 1
      entries.clear()
    },
  }
}
