// Errors of the database, told apart by one question: can anything have been written?

import pg from 'pg'
import { Failure } from '../core/errors.ts'

const RETRY_AFTER_SECONDS = 1

/**
 * SQLSTATEs about the state of the server, not about the statement: connection trouble, shutdown, out of connections, a
 * lock or a time limit, a deadlock.
 */
const UNAVAILABLE = /^(08|53|57|40)|^(55P03|25P03)$/
/** Of those, the ones after which the statement has certainly been rolled back. */
const ROLLED_BACK = /^40|^(55P03|57014)$/

/** A refusal of the statement stays as it is; every other error becomes `unavailable`, and the caller may try again. */
export function databaseFailure(error: unknown): unknown {
  if (isDatabaseError(error) && !UNAVAILABLE.test(error.code)) return error
  return new Failure('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error })
}

/** True when nothing of the statement was written. Not true of a lost answer: the statement may have been committed. */
export function isRolledBack(error: unknown): boolean {
  const cause = error instanceof Failure ? error.cause : error
  return isDatabaseError(cause) && (!UNAVAILABLE.test(cause.code) || ROLLED_BACK.test(cause.code))
}

/** The name of the constraint that a write has violated; null for any other error. */
export function violatedConstraint(error: unknown): string | null {
  return isDatabaseError(error) && error.code.startsWith('23') ? (error.constraint ?? null) : null
}

/** A value that PostgreSQL cannot hold and our validation let through: 22P02, 22003, 22008, 22021, 22P05. */
export function isUnstorable(error: unknown): boolean {
  return isDatabaseError(error) && /^22(P02|003|008|021|P05)$/.test(error.code)
}

function isDatabaseError(error: unknown): error is pg.DatabaseError & { code: string } {
  return error instanceof pg.DatabaseError && typeof error.code === 'string'
}
