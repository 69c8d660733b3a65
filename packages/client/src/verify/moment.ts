// A moment is a pair of readings: of a clock that never goes back, but may stand still while the machine sleeps, and of the
// time of day, which somebody may set.

export type Moment = { mono: number; wall: number }

export const NEVER: Moment = { mono: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY }

/** By how much two clocks that never go back may differ in speed. */
export const DRIFT = 0.01

/** At least what has passed, whichever clock was wrong. */
export function elapsed(since: Moment, now: Moment): number {
  return Math.max(now.mono - since.mono, now.wall - since.wall)
}
