// Bodies that are larger than most may be, such as imports, are held in memory from their first byte until the
// work with them is done. All of them together take at most so many bytes of a node, counted by the size they announce.

import { fail } from '../core/errors.ts'

const MAX_BYTES = 64 * 1024 * 1024
/** As large as one body may be. Who holds more makes room first. */
const FAIR_BYTES = 2 * 1024 * 1024
/** How fast a body arrives is known after this time. */
const SETTLED_MS = 1_000

export type LargeBodies = {
  /** Throws when there is no room: the bodies that are held have arrived, or are of tenants that hold less. */
  hold(bytes: number, tenant: string, sender: Sender): HeldBody
}

/** `received`: how many bytes of it have arrived. */
type Sender = { cutOff: () => void; received: () => number }

export type HeldBody = {
  /** It is there as a whole: from now on it is not cut off. */
  arrived(): void
  release(): void
}

type Arriving = Sender & { tenant: string; since: number }

/**
 * When there is no room for a body, others that are arriving are cut off, since their senders may be stalling: those of the
 * tenant that holds the most, the oldest first. When nobody holds more than one may be large, it is the one that arrives slowest.
 */
export function newLargeBodies(
  maxBytes = MAX_BYTES,
  fairBytes = FAIR_BYTES,
  clock = () => performance.now(),
): LargeBodies {
  let held = 0
  const byTenant = new Map<string, number>()
  const heldBy = (tenant: string) => byTenant.get(tenant) ?? 0
  const add = (tenant: string, bytes: number) => {
    held += bytes
    const now = heldBy(tenant) + bytes
    if (now === 0) byTenant.delete(tenant)
    else byTenant.set(tenant, now)
  }
  /** The oldest first. */
  const arriving = new Map<HeldBody, Arriving>()
  const rateOf = ({ since, received }: Arriving) => {
    const ms = clock() - since
    return ms < SETTLED_MS ? Number.POSITIVE_INFINITY : received() / ms
  }
  const whoMakesRoom = (bytes: number) => {
    const all = [...arriving]
    const most = Math.max(0, ...all.map(([, { tenant }]) => heldBy(tenant)))
    if (most > fairBytes && most >= bytes) return all.find(([, { tenant }]) => heldBy(tenant) === most)
    if (bytes > fairBytes) return undefined
    const slowest = Math.min(...all.map(([, sender]) => rateOf(sender)))
    return all.find(([, sender]) => rateOf(sender) <= slowest)
  }
  return {
    hold(bytes, tenant, sender) {
      while (held + bytes > maxBytes) {
        const [body, other] = whoMakesRoom(heldBy(tenant) + bytes) ?? fail('overloaded', { retryAfterSeconds: 5 })
        body.release()
        other.cutOff()
      }
      add(tenant, bytes)
      let isHeld = true
      const body: HeldBody = {
        arrived: () => void arriving.delete(body),
        release() {
          arriving.delete(body)
          if (isHeld) add(tenant, -bytes)
          isHeld = false
        },
      }
      arriving.set(body, { ...sender, tenant, since: clock() })
      return body
    },
  }
}
