// Load shedding: a request that would wait too long gets 503 before any work is done for it, since a slow failure would
// cost its caller more. How long it would wait is estimated by Little's law: the requests in flight, divided by those that
// are completed in a second. Health checks are always admitted. Verification of keys is shed last: other systems call it
// for each of their own requests.

const MAX_WAIT_MS = 250
/**
 * So many are admitted whatever the estimate says: after a quiet time it knows nothing, and a few hundred requests may well
 * wait for something that others do not need, such as the check of a password or the lock of one store.
 */
const MIN_IN_FLIGHT = 300
const MAX_IN_FLIGHT = 2_000
/** Requests whose caller is not known yet. They do not count as in flight. */
export const MAX_IDENTIFYING = 300
/** By how much a request may exceed the limits before it is shed. */
const FACTORS = { normal: 1, high: 2, always: Number.POSITIVE_INFINITY }
const TICK_MS = 50
/** The rate is the average of about so many measurements. */
const SMOOTHING = 10

export type Priority = keyof typeof FACTORS

/** Of a request that was admitted: it counts as in flight until `release`, which counts once however often it is called. */
export type Ticket = {
  release(): void
  /** It does not count until `unpark`: its body is still arriving. */
  park(): void
  unpark(): void
}

export type LoadShedder = {
  /** Null when the request is shed. */
  admit(priority: Priority): Ticket | null
  inFlight(): number
  /** How many requests of normal priority may be in flight now. */
  limit(): number
  /** How many more of them would be admitted. */
  room(): number
  completedPerSecond(): number
  close(): void
}

export function newLoadShedder(): LoadShedder {
  let inFlight = 0
  let completed = 0
  let perSecond = 0
  let measuredAt = performance.now()
  let lagMs = 0
  let tickedAt = performance.now()
  const timer = setInterval(() => {
    lagMs = performance.now() - tickedAt - TICK_MS
    tickedAt = performance.now()
  }, TICK_MS).unref()

  /** By the clock and not by the timer: while thousands of sockets can be read, timers may wait for seconds. */
  function measureRate(): void {
    const elapsedMs = performance.now() - measuredAt
    if (elapsedMs < TICK_MS) return
    // A measurement that comes late weighs as much as those that it stands for.
    const weight = Math.min(1, elapsedMs / TICK_MS / SMOOTHING)
    perSecond += weight * ((completed * 1000) / elapsedMs - perSecond)
    measuredAt += elapsedMs
    completed = 0
  }

  function limit(): number {
    measureRate()
    const wanted = lagMs > MAX_WAIT_MS ? 0 : (perSecond * MAX_WAIT_MS) / 1000
    return Math.min(MAX_IN_FLIGHT, Math.max(MIN_IN_FLIGHT, wanted))
  }

  const room = (factor: number) => limit() * factor - inFlight

  function newTicket(): Ticket {
    let state: 'in flight' | 'parked' | 'released' = 'in flight'
    inFlight += 1
    return {
      release() {
        if (state === 'in flight') {
          inFlight -= 1
          completed += 1
        }
        state = 'released'
      },
      park() {
        if (state !== 'in flight') return
        inFlight -= 1
        state = 'parked'
      },
      unpark() {
        if (state !== 'parked') return
        inFlight += 1
        state = 'in flight'
      },
    }
  }

  return {
    admit(priority) {
      return room(FACTORS[priority]) < 1 ? null : newTicket()
    },
    limit,
    room: () => Math.max(0, Math.floor(room(FACTORS.normal))),
    inFlight: () => inFlight,
    completedPerSecond: () => perSecond,
    close: () => clearInterval(timer),
  }
}
