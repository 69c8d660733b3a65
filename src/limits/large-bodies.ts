// Bodies that are larger than most may be, such as imports, are held in memory from their first byte until the
// work with them is done. All of them together take at most so many bytes of a node, counted by the size they announce.

import { fail } from '../core/errors.ts'

const MAX_BYTES = 64 * 1024 * 1024

export type LargeBodies = {
  /** `cutOff` ends the connection. Throws when there is no room: the bodies that are held have arrived. */
  hold(bytes: number, cutOff: () => void): HeldBody
}

export type HeldBody = {
  /** It is there as a whole: from now on it is not cut off. */
  arrived(): void
  release(): void
}

/** When there is no room for a body, the ones that have been arriving the longest are cut off: a sender may be stalling. */
export function newLargeBodies(maxBytes = MAX_BYTES): LargeBodies {
  let held = 0
  /** The oldest first. */
  const arriving = new Map<HeldBody, () => void>()
  return {
    hold(bytes, cutOff) {
      for (const [oldest, cutOffOldest] of arriving) {
        if (held + bytes <= maxBytes) break
        oldest.release()
        cutOffOldest()
      }
      if (held + bytes > maxBytes) fail('overloaded', { retryAfterSeconds: 5 })
      held += bytes
      let isHeld = true
      const body: HeldBody = {
        arrived: () => void arriving.delete(body),
        release() {
          arriving.delete(body)
          if (isHeld) held -= bytes
          isHeld = false
        },
      }
      arriving.set(body, cutOff)
      return body
    },
  }
}
