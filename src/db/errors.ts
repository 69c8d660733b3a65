// Errors of the database, told apart by one question: can anything have been written?

import pg from 'pg'
import { SECOND } from '../core/clock.ts'
import { Failure } from '../core/errors.ts'

const RETRY_AFTER_SECONDS = 1

/**
 * SQLSTATEs about the state of the server, not about the statement: connection trouble, a lost right to connect, shutdown,
 * out of connections, memory or disk, a lock or a time limit, a deadlock, a server that takes no writes.
 */
const UNAVAILABLE = /^(08|28|53|57|58|40)|^(55P03|25P03|25006)$/
/** Of those, the ones after which the statement has certainly been rolled back, and the connection is as good as before. */
const ROLLED_BACK = /^40|^(55P03|57014)$/
const READ_ONLY = '25006'
const STATEMENT_TIMEOUT = '57014'
const LOCK_TIMEOUT = '55P03'
const ABORTED_TRANSACTION = '25P02'
/** No connection is free, as when many nodes start together; or the server is still starting. */
const SOON_BETTER = ['53300', '57P03']

/** A connection that was opened to a server that is no primary, and is closed again. */
export class StandbyServer extends Error {
  constructor() {
    super('this server is a standby')
  }
}

/** Two servers that both take themselves for the primary: see primary.ts. */
export class SeveralPrimaries extends Error {
  constructor() {
    super('several servers say that they are the primary')
  }
}

/** Either this node's clock is wrong, or the server's: see clock-check.ts. */
export class ClocksDiffer extends Error {
  constructor(differenceMs: number) {
    super(`the clock of this node and that of the database differ by ${Math.round(differenceMs / SECOND)} seconds`)
  }
}

/**
 * The server has committed and warned: somebody ended its wait for a standby. What was written may be lost with this server,
 * so it is not told as done.
 */
export class UnconfirmedCommit extends Error {
  constructor(warning: string) {
    super(`the commit came with a warning: ${warning}`)
  }
}

/** A refusal of the statement stays as it is; every other error becomes `unavailable`, and the caller may try again. */
export function databaseFailure(error: unknown): unknown {
  return isDatabaseError(error) && !UNAVAILABLE.test(error.code) ? error : connectFailure(error)
}

/** No connection was to be had, whatever the server says: a wrong password, no right to connect, no such database. */
export function connectFailure(error: unknown): Failure {
  return new Failure('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error })
}

/** True when nothing of the statement was written. Not true of a lost answer: the statement may have been committed. */
export function isRolledBack(error: unknown): boolean {
  const cause = error instanceof Failure ? error.cause : error
  return isDatabaseError(cause) && (!UNAVAILABLE.test(cause.code) || ROLLED_BACK.test(cause.code))
}

/** Whether the connection it happened on is given up: the next one may lead to a server that is in order. */
export function endsConnection(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unavailable' && error.cause !== undefined && !isRolledBack(error)
}

/** Why the database is not available, in words for whoever keeps the service running. */
export function describeOutage(error: unknown): string {
  const cause = error instanceof Failure ? error.cause : error
  if (cause instanceof StandbyServer) return 'the database is a standby'
  if (cause instanceof SeveralPrimaries) return 'several databases say that they are the primary'
  if (cause instanceof ClocksDiffer) return cause.message
  if (!isDatabaseError(cause)) return 'the database does not answer'
  return cause.code === READ_ONLY ? 'the database is read-only' : `the database refuses to serve (${cause.code})`
}

/** Whether the server answered that it is a standby, or takes no writes for another reason. */
export function takesNoWrites(error: unknown): boolean {
  const cause = error instanceof Failure ? error.cause : error
  return cause instanceof StandbyServer || (isDatabaseError(cause) && cause.code === READ_ONLY)
}

export function isStatementTimeout(error: unknown): boolean {
  return error instanceof Failure && outageCode(error) === STATEMENT_TIMEOUT
}

export function isLockTimeout(error: unknown): boolean {
  return error instanceof Failure && outageCode(error) === LOCK_TIMEOUT
}

/** The statement was not looked at, because one before it in the same transaction was refused. */
export function isInAbortedTransaction(error: unknown): boolean {
  return isDatabaseError(error) && error.code === ABORTED_TRANSACTION
}

/** Whether a server that refuses a connection will soon have one. */
export function isSoonBetter(error: unknown): boolean {
  return isDatabaseError(error) && SOON_BETTER.includes(error.code)
}

/** The SQLSTATE of a failure, for the metrics; `none` where the server did not answer. */
export function outageCode(failure: Failure): string {
  return isDatabaseError(failure.cause) ? failure.cause.code : 'none'
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
