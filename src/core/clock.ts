// The one source of time, so that a test can move an hour ahead in a millisecond.

let offsetMs = 0

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export function now(): Date {
  return new Date(nowMs())
}

/** Milliseconds since 1970, for hot paths that need no Date. */
export function nowMs(): number {
  return Date.now() + offsetMs
}

export function fromNow(ms: number): Date {
  return new Date(nowMs() + ms)
}

export function ago(ms: number): Date {
  return new Date(nowMs() - ms)
}

export function addMs(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}

/** For what is counted by the database's clock: 0, unless a test has moved this process's. */
export function travelledMs(): number {
  return offsetMs
}

/** For tests: moves this process's clock by `ms`; 0 resets it. */
export function travel(ms: number): void {
  offsetMs = ms === 0 ? 0 : offsetMs + ms
}
