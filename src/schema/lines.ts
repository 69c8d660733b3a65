// The lines of an import: each is checked for itself, and other requests get their turn in between.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TSchema } from 'typebox'
import { Failure, type Fault } from '../core/errors.ts'
import { TOO_MANY_FIELDS, validate } from './validate.ts'

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

/** Metadata of 16 KiB has some 8,000. All are validated, whether or not they are known, without a turn for others. */
const MAX_LINE_MEMBERS = 10_000

export type CheckedLine = {
  faults: Fault[]
  /** Of a line with very many fields or faults only some are known: whatever else it holds may be of any type. */
  isComplete: boolean
}

export function checkLine(schema: TSchema, line: unknown): CheckedLine {
  if (countMembers(line, MAX_LINE_MEMBERS) > MAX_LINE_MEMBERS) return { faults: [TOO_MANY_FIELDS], isComplete: false }
  try {
    return { faults: validate(schema, line), isComplete: true }
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_input')
      return { faults: error.details.members?.errors as Fault[], isComplete: false }
    throw error
  }
}

/** How many members and entries there are in it on all levels, or some number above `max`. */
function countMembers(value: unknown, max: number): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    count += 1 + countMembers(member, max - count)
    if (count > max) return count
  }
  return count
}

/** Faults of a part, as faults of the whole body. */
export function below(at: string, faults: Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, pointer: at + fault.pointer.slice(1) }))
}
