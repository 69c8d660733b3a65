// Time comes from here and nowhere else, so that a test can live through an hour in a millisecond.

let offsetMs = 0

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export function now(): Date {
  return new Date(nowMs())
}

/** In milliseconds since 1970, where many are asked for. */
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

/** For tests: moves this process's time by so much. Called with 0 it comes home. */
export function travel(ms: number): void {
  offsetMs = ms === 0 ? 0 : offsetMs + ms
}
