// Holds a value against a schema and tells every fault at once, each with a pointer, a stable code and a sentence.
// Two keywords are added to JSON Schema: `x-text` brings text into its normal form before its length is checked (see
// text.ts), and `x-date-time` takes an RFC 3339 time that really exists.

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { type Fault, failInput } from '../core/errors.ts'
import { suggestWord } from '../core/suggest.ts'
import { parseDateTime } from './fields.ts'
import { normalizeText, type TextKind, wrongCharacters } from './text.ts'

const ajv = new Ajv({
  allErrors: true,
  coerceTypes: false,
  removeAdditional: false,
  strict: false,
  validateFormats: false,
  // That the schemas themselves are sound is tested (tests/docs.test.ts): to hold them against their own schema would cost
  // each process 55 ms of CPU time, most of it before the first answer.
  meta: false,
  validateSchema: false,
  // With its schema: it tells which fields there are.
  verbose: true,
})

ajv.addKeyword({
  keyword: 'x-text',
  type: 'string',
  before: 'maxLength',
  modifying: true,
  // Errors of a keyword's own would be copied together with all before them, each time.
  errors: false,
  validate: (
    kind: TextKind,
    data: string,
    _schema: unknown,
    place?: { parentData: Record<string, unknown>; parentDataProperty: string | number },
  ): boolean => {
    const normalized = normalizeText(data, kind)
    if (place) place.parentData[place.parentDataProperty] = normalized
    return wrongCharacters(normalized, kind) === null
  },
})
ajv.addKeyword({
  keyword: 'x-date-time',
  type: 'string',
  validate: (_: true, data: string) => parseDateTime(data) !== null,
})

const compiled = new WeakMap<TSchema, ValidateFunction>()

/**
 * Above this many members or entries the input is reported as one fault: validating each of them would take too long.
 */
export const MAX_MEMBERS = 1_000
export const TOO_MANY_FIELDS: Fault = { pointer: '#', code: 'too_long', detail: 'This has far too many fields.' }
/** Faults beyond this number are not turned into sentences: they are never shown. */
const MAX_REPORTED = 100

/**
 * The faults of `value`, whose text is normalized in place. With too many faults the request fails here with the first
 * of them, because the rest of the value was not checked.
 */
export function validate(schema: TSchema, value: unknown, mapFault = (fault: Fault) => fault): Fault[] {
  const tooMany = tooManyMembers(value)
  if (tooMany) failInput([mapFault(tooMany)])
  let validator = compiled.get(schema)
  if (!validator) {
    validator = ajv.compile(schema)
    compiled.set(schema, validator)
  }
  if (validator(value)) return []
  // One fault for each pointer: an invisible character is not reported again as a wrong length. (64 KiB hold thousands
  // of faults, so they are found by a map.)
  const faults = new Map<string, Fault>()
  const errors = validator.errors ?? []
  for (const fault of errors.slice(0, MAX_REPORTED).map((error) => mapFault(toFault(error))))
    if (!faults.has(fault.pointer)) faults.set(fault.pointer, fault)
  return errors.length > MAX_REPORTED ? failInput([...faults.values()]) : [...faults.values()]
}

function tooManyMembers(value: unknown): Fault | null {
  if (typeof value !== 'object' || value === null) return null
  // Making the entries of a list of a million takes most of a second.
  if (Array.isArray(value) && value.length > MAX_MEMBERS) return TOO_MANY_FIELDS
  const entries = Object.entries(value)
  if (entries.length > MAX_MEMBERS) return TOO_MANY_FIELDS
  const long = entries.find(([, member]) => Array.isArray(member) && member.length > MAX_MEMBERS)
  return long
    ? { pointer: `#/${pointerToken(long[0])}`, code: 'too_long', detail: 'This has far too many entries.' }
    : null
}

function toFault(error: ErrorObject): Fault {
  const at = `#${error.instancePath}`
  const { params } = error
  const many = error.keyword.endsWith('Items') ? 'entries' : 'characters'
  switch (error.keyword) {
    case 'required':
      return {
        pointer: `${at}/${pointerToken(params.missingProperty)}`,
        code: 'required',
        detail: 'This field is required.',
      }
    case 'additionalProperties':
      return {
        pointer: `${at}/${pointerToken(params.additionalProperty)}`,
        code: 'unknown_member',
        ...unknownMember(params.additionalProperty, Object.keys(error.parentSchema?.properties ?? {})),
      }
    case 'type':
      return { pointer: at, code: 'invalid_type', detail: `This must be ${typeWords(params.type)}.` }
    case 'enum': {
      const words: string[] = params.allowedValues.filter((word: unknown) => word !== null)
      // An object may have a member `toString` that is no function.
      const meant = typeof error.data === 'object' ? undefined : suggestWord(String(error.data), words.map(String))
      return {
        pointer: at,
        code: 'unknown_value',
        detail: `This must be one of ${words.join(', ')}.`,
        ...(meant === undefined ? {} : { suggestion: meant }),
      }
    }
    case 'minLength':
    case 'minItems':
      return {
        pointer: at,
        code: 'too_short',
        detail: params.limit === 1 ? 'This must not be empty.' : `This must have at least ${params.limit} ${many}.`,
      }
    case 'maxLength':
    case 'maxItems':
      return { pointer: at, code: 'too_long', detail: `This may have at most ${params.limit} ${many}.` }
    case 'minimum':
      return { pointer: at, code: 'too_small', detail: `This must be at least ${params.limit}.` }
    case 'maximum':
      return { pointer: at, code: 'too_large', detail: `This may be at most ${params.limit}.` }
    case 'uniqueItems':
      return {
        pointer: `${at}/${Math.max(params.i, params.j)}`,
        code: 'repeated',
        detail: 'This entry is in the list twice.',
      }
    case 'x-text':
      return {
        pointer: at,
        code: 'invalid_characters',
        detail: wrongCharacters(String(error.data), error.schema as TextKind) ?? '',
      }
    case 'x-date-time':
      return {
        pointer: at,
        code: 'invalid_time',
        detail: 'Use an RFC 3339 timestamp with a time zone.',
        example: '2027-01-31T12:00:00Z',
      }
    default:
      return { pointer: at, code: 'invalid_format', detail: 'Invalid format.' }
  }
}

function unknownMember(name: string, known: string[]): Pick<Fault, 'detail' | 'suggestion'> {
  const meant = suggestWord(name, known)
  if (meant === undefined) return { detail: 'Unknown field. Leave it out.' }
  return { detail: `Unknown field. Did you mean "${meant}"?`, suggestion: meant }
}

/** A member's name as a step of a JSON pointer (RFC 6901). A very long one is cut: it is there to be recognised. */
export function pointerToken(name: string): string {
  return name.slice(0, MAX_STEP).replaceAll('~', '~0').replaceAll('/', '~1')
}

const MAX_STEP = 100

function typeWords(type: string | string[]): string {
  const words: Record<string, string> = {
    string: 'a string',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    object: 'an object',
    array: 'a list',
    null: 'null',
  }
  return [type]
    .flat()
    .map((name) => words[name] ?? name)
    .join(' or ')
}
