// A moment is a pair of readings: of a clock that never goes back, but stands still while the machine sleeps, and of the time
// of day, which somebody may set. What must not be relied on for too long, such as a cached key, has its age by both.

export type Moment = { mono: number; wall: number }

export const NEVER: Moment = { mono: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY }

export function thisMoment(): Moment {
  return { mono: performance.now(), wall: Date.now() }
}

/** In milliseconds, by the clock that says more: a time of day that is set back makes nothing younger. */
export function ageOf({ mono, wall }: Moment): number {
  return Math.max(performance.now() - mono, Date.now() - wall)
}

export function laterOf(one: Moment, other: Moment): Moment {
  return one.mono > other.mono ? one : other
}
