// Why a command ends, as one sentence and an exit code.

import { isStorekeeperError, type StorekeeperError } from '@storekeeper/client'
import { plain } from '../../../src/cli/plain.ts'

export const EXIT = {
  done: 0,
  refused: 1,
  wrongUse: 2,
  notSignedIn: 4,
  notFound: 5,
  conflict: 6,
  unavailable: 7,
  interrupted: 130,
} as const

export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.exitCode = exitCode
  }
}

export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, EXIT.wrongUse)
  }
}

export class Interrupted extends CommandError {
  constructor() {
    super('Interrupted.', EXIT.interrupted)
  }
}

const SIGN_IN_CODES = ['sign_in_required', 'recent_sign_in_required', 'sign_in_refused']

function exitCodeOf({ code, status = 0 }: StorekeeperError): number {
  if (code === 'aborted') return EXIT.interrupted
  if (status === 401 || SIGN_IN_CODES.includes(code)) return EXIT.notSignedIn
  if (status === 404) return EXIT.notFound
  if (status === 409 || status === 412 || code === 'idempotency_mismatch') return EXIT.conflict
  if (status === 0 || status === 408 || status === 429 || status >= 500 || code === 'invalid_response')
    return EXIT.unavailable
  return status === 403 ? EXIT.refused : EXIT.wrongUse
}

/**
 * What a person reads: the service's sentence, everything that is wrong with the input, and what to do next. Each is one line,
 * whatever the service has written.
 */
function describe(error: StorekeeperError): string {
  const { code, requestId, retryAfter, errors, status = 0 } = error
  const faults = errors.map(({ pointer, detail }) => `  ${pointer}: ${detail}`)
  const advice = [
    code === 'recent_sign_in_required' ? 'Sign in again: skp login' : null,
    retryAfter ? `Try again in ${Math.ceil(retryAfter)} s.` : null,
    status >= 500 && requestId ? `Request id: ${requestId}` : null,
  ]
  return [code === 'aborted' ? 'Interrupted.' : error.message, ...faults, ...advice.filter((line) => line !== null)]
    .map(plain)
    .join('\n')
}

export function toCommandError(error: unknown): unknown {
  return isStorekeeperError(error) ? new CommandError(describe(error), exitCodeOf(error), error) : error
}

/** Whether what was asked for may have been done, though no answer says so. */
export function mayHaveBeenDone(error: unknown): boolean {
  if (!isStorekeeperError(error)) return false
  const { code, status = 0 } = error
  return (
    status === 0 ||
    (status >= 500 && code !== 'overloaded') ||
    ['invalid_response', 'idempotency_in_progress'].includes(code)
  )
}
