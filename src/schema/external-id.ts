// The id that a store's own system has for a person: any text, in NFC, that stays visible and survives a path.

import type { Fault } from '../core/errors.ts'
import { normalForm } from '../core/unicode.ts'
import { wrongCharacters } from './text.ts'

export const MAX_EXTERNAL_ID_LENGTH = 255

/** Null, with its fault pushed, when it can be no such id. */
export function parseExternalId(text: string, pointer: string, faults: Fault[]): string | null {
  const fault = (code: string, detail: string) => {
    faults.push({ pointer, code, detail, example: 'customer-42' })
    return null
  }
  if (text.length > 4 * MAX_EXTERNAL_ID_LENGTH) return fault('too_long', TOO_LONG)
  const id = normalForm(text, 'NFC')
  if (id === '') return fault('too_short', 'This must not be empty.')
  if ([...id].length > MAX_EXTERNAL_ID_LENGTH) return fault('too_long', TOO_LONG)
  const wrong = wrongCharacters(id, 'exact')
  if (wrong) return fault('invalid_characters', wrong)
  if (id.trim() !== id) return fault('invalid_format', 'This must not begin or end with a space.')
  // Clients and proxies take these for steps of a path, also when they are percent-encoded.
  if (id === '.' || id === '..') return fault('invalid_format', 'This can\'t be "." or "..".')
  return id
}

const TOO_LONG = `This may have at most ${MAX_EXTERNAL_ID_LENGTH} characters.`
