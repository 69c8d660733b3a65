// The fields that schemas are made of, beside those of `Type`: a line of text, a time, a choice, a value that may be
// null.

import type { Static, TSchema } from 'typebox'
import type { TextKind } from './text.ts'
import { Type } from './type.ts'

/** One line of text a person typed, trimmed and in NFC, `min` to `max` characters long. */
export function Line(min: number, max: number, options: { kind?: TextKind } & Record<string, unknown> = {}) {
  const { kind = 'line', ...rest } = options
  return Type.String({ 'x-text': kind, minLength: min, maxLength: max, ...rest })
}

export function DateTime(options: Record<string, unknown> = {}) {
  return Type.String({
    format: 'date-time',
    'x-date-time': true,
    examples: ['2027-01-31T12:00:00.000Z'],
    ...options,
  })
}

/** The id of something, such as `key_01k9…` of a key. */
export function Id(kind: string, description: string) {
  return Type.String({ description, examples: [`${kind}_01k9wz3v5e8tvs8v4m8m3v5yqd`] })
}

export const StoreId = Id('store', 'The id of the store.')
export const UserId = Id('user', 'The id of the user.')
export const CreatedAt = DateTime({ description: 'When it was created.' })
export const UpdatedAt = DateTime({ description: 'When it was last changed.' })

const ACTORS = {
  user: 'a person',
  key: 'an API key',
  service: 'a back end with a service token',
  system: 'Storekeeper itself',
}

/** Who did something. */
export function ActorOf<const Kind extends keyof typeof ACTORS>(kinds: readonly Kind[], description: string) {
  return Type.Object(
    {
      kind: OneOf(kinds, {
        description: `What it was: ${kinds.map((kind) => `\`${kind}\`, ${ACTORS[kind]}`).join('; ')}.`,
      }),
      id: Type.String({
        description: 'The id of that user, key or service token.',
        examples: ['user_01k9wz3v5e8tvs8v4m8m3v5yqd'],
      }),
    },
    { additionalProperties: false, description },
  )
}

export function Nullable<Schema extends TSchema>(schema: Schema) {
  const { type, enum: values, ...rest } = schema as Schema & { type?: string; enum?: string[] }
  return Type.Unsafe<Static<Schema> | null>(
    values ? { ...rest, enum: [...values, null] } : { ...rest, type: [type, 'null'] },
  )
}

export function OneOf<const Value extends string>(values: readonly Value[], options: Record<string, unknown> = {}) {
  return Type.Unsafe<Value>({ type: 'string', enum: [...values], ...options })
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/** RFC 3339 with an offset, on a day that exists. */
export function parseDateTime(text: string): Date | null {
  const match = RFC_3339.exec(text)
  if (!match) return null
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number]
  const exists = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && month >= 1 && month <= 12 && year > 0
  const moment = new Date(text.replace(' ', 'T').toUpperCase())
  return exists && !Number.isNaN(moment.getTime()) ? moment : null
}
