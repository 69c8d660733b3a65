// Lists are read a page at a time. A cursor is the last id of a page with a mark of ours over that id and the list it
// belongs to (path, caller and filters): given to another list, or altered, it is `invalid_cursor`.

import { timingSafeEqual } from 'node:crypto'
import type { TSchema } from 'typebox'
import { fail } from './errors.ts'
import type { Keyring } from './secrets.ts'
import { Type } from './type.ts'

export const PageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'How many to give at most.' }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 500, description: '`nextCursor` of the page before. Left out: the first page.' }),
  ),
}

export type PageAsked = { limit?: number; cursor?: string }
export type Page<Item> = { data: Item[]; nextCursor: string | null }

export function pageOf<Item extends TSchema>(item: Item, title: string) {
  return Type.Object(
    {
      data: Type.Array(item),
      nextCursor: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'Pass it as `cursor` to read on; `null` on the last page.',
      }),
    },
    { title, additionalProperties: false },
  )
}

const DEFAULT_LIMIT = 20
const MARK_LENGTH = 16

/** What a list asks the database for: one row more than the page, so that we know whether there is another page. */
export type Window = { limit: number; after: string }

/** Comes after every id, so the first page is the one that follows it. */
const START = '~'

export function windowOf(
  keyring: Keyring,
  list: readonly (string | undefined)[],
  query: PageAsked,
  start = START,
): Window {
  const limit = query.limit ?? DEFAULT_LIMIT
  return { limit, after: query.cursor === undefined ? start : readCursor(keyring, list, query.cursor) }
}

export function cutPage<Row, Item>(
  keyring: Keyring,
  list: readonly (string | undefined)[],
  window: Window,
  rows: Row[],
  placeOf: (row: Row) => string,
  show: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, window.limit)
  const last = shown.at(-1)
  return {
    data: shown.map(show),
    nextCursor: rows.length > window.limit && last ? writeCursor(keyring, list, placeOf(last)) : null,
  }
}

function writeCursor(keyring: Keyring, list: readonly (string | undefined)[], place: string): string {
  return Buffer.concat([mark(keyring.current, list, place), Buffer.from(place)]).toString('base64url')
}

function readCursor(keyring: Keyring, list: readonly (string | undefined)[], cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  const place = bytes.subarray(MARK_LENGTH).toString()
  if (bytes.length > MARK_LENGTH && bytes.toString('base64url') === cursor)
    for (const keys of [keyring.current, keyring.previous])
      if (keys && timingSafeEqual(bytes.subarray(0, MARK_LENGTH), mark(keys, list, place))) return place
  return fail('invalid_cursor')
}

function mark(keys: Keyring['current'], list: readonly (string | undefined)[], place: string): Buffer {
  return keys.hmac('cursor', JSON.stringify(list), place).subarray(0, MARK_LENGTH)
}
