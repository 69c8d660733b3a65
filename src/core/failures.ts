// Failures of background work. No request is there to report them to, so each one is counted, and the first of a minute
// is logged.

import type { Logger } from 'pino'
import { MINUTE } from './clock.ts'

export type ReportFailure = (work: string, cause: unknown) => void

export function newFailureReporter(log: Logger, count: (work: string) => void): ReportFailure {
  const loggedAt = new Map<string, number>()
  return (work, cause) => {
    count(work)
    if (performance.now() - (loggedAt.get(work) ?? Number.NEGATIVE_INFINITY) < MINUTE) return
    loggedAt.set(work, performance.now())
    log.error({ work, err: describeError(cause) }, 'failed')
  }
}

/** The name and place of what went wrong, without its message: that may hold what a caller sent. */
export function describeError(cause: unknown): { name: string; code?: unknown; stack?: string } {
  if (!(cause instanceof Error)) return { name: typeof cause }
  const places = cause.stack
    ?.split('\n')
    .filter((line) => line.trim().startsWith('at '))
    .slice(0, 8)
    .join('\n')
  return { name: cause.name, ...('code' in cause ? { code: cause.code } : {}), ...(places ? { stack: places } : {}) }
}
