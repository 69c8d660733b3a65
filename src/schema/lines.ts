// The lines of an import: each is checked for itself, and other requests get their turn in between.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TSchema } from 'typebox'
import { Failure, type Fault } from '../core/errors.ts'
import { validate } from './validate.ts'

const MAX_TURN_MS = 2

export type Pause = () => Promise<void> | null

/** For work of any length: lets other requests have their turn. */
export function newPause(): Pause {
  let since = performance.now()
  return () => {
    if (performance.now() - since < MAX_TURN_MS) return null
    return nextTurn().then(() => {
      since = performance.now()
    })
  }
}

/** With very many faults the validator fails as a whole: then these are the line's. */
export function faultsOfLine(schema: TSchema, line: unknown): Fault[] {
  try {
    return validate(schema, line)
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_input') return error.details.members?.errors as Fault[]
    throw error
  }
}

/** Faults of a part, as faults of the whole body. */
export function below(at: string, faults: Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, pointer: at + fault.pointer.slice(1) }))
}
