// Lists are read a page at a time. A cursor is the last id of a page with a MAC over that id and the list it
// belongs to (path, caller and filters): given to another list, or altered, it is `invalid_cursor`.

import { timingSafeEqual } from 'node:crypto'
import type { TSchema } from 'typebox'
import type { Keyring } from '../crypto/keyring.ts'
import { Type } from '../schema/type.ts'
import { fail } from './errors.ts'

export const PageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'The maximum number of items to return.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 500,
      description: 'The `nextCursor` of the previous page. Omit it to get the first page.',
    }),
  ),
}

export type PageParams = { limit?: number; cursor?: string }
export type Page<Item> = { data: Item[]; nextCursor: string | null }

export function pageOf<Item extends TSchema>(item: Item, title: string) {
  return Type.Object(
    {
      data: Type.Array(item, { description: 'The items on this page.' }),
      nextCursor: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'Pass this as `cursor` to get the next page. `null` on the last page.',
      }),
    },
    { title, description: 'One page of a list.', additionalProperties: false },
  )
}

export const DEFAULT_LIMIT = 20
const MAC_LENGTH = 16

/**
 * What a list asks the database for: `take` is one row more than the page holds, to know whether another one follows.
 */
export type PageWindow = { limit: number; take: number; after: string }

/** Comes after every id, so the first page is the one that follows it. */
const START = '~'

type PagedList<Row, Item> = {
  keyring: Keyring
  /** What a cursor belongs to: the list, its owner and its filters. */
  list: readonly (string | undefined)[]
  query: PageParams
  read: (window: PageWindow) => Promise<Row[]>
  show: (row: Row) => Item
  /** What the list is ordered by. */
  positionOf: (row: Row) => string
  /** The position before the first row. */
  start?: string
  /** Of a list that looks at a number of rows for a page: where the next page begins though this one is not full, or null. */
  lookedTo?: (window: PageWindow, rows: Row[]) => Promise<string | null>
}

/** One page of a list: every list of the API is read this way. */
export async function listPage<Row, Item>(paged: PagedList<Row, Item>): Promise<Page<Item>> {
  const { keyring, list, query, read, show, positionOf, start, lookedTo } = paged
  const window = pageWindow(keyring, list, query, start)
  const rows = await read(window)
  const page = toPage(keyring, list, window, rows, positionOf, show)
  const place = page.nextCursor === null && lookedTo ? await lookedTo(window, rows) : null
  return place === null ? page : { ...page, nextCursor: writeCursor(keyring, list, place) }
}

/**
 * Where the next page begins: after the last row that was looked at, if there are more. Rows that have come since the page was
 * read have moved that place, but not to before a row that it shows.
 */
export function placeLookedTo(lastLookedAt: string | undefined, lastShown: string | undefined): string | null {
  if (lastLookedAt === undefined) return null
  return lastShown !== undefined && lastShown < lastLookedAt ? lastShown : lastLookedAt
}

export function pageWindow(
  keyring: Keyring,
  list: readonly (string | undefined)[],
  query: PageParams,
  start = START,
): PageWindow {
  const limit = query.limit ?? DEFAULT_LIMIT
  return { limit, take: limit + 1, after: query.cursor === undefined ? start : readCursor(keyring, list, query.cursor) }
}

export function toPage<Row, Item>(
  keyring: Keyring,
  list: readonly (string | undefined)[],
  window: PageWindow,
  rows: Row[],
  positionOf: (row: Row) => string,
  show: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, window.limit)
  const last = shown.at(-1)
  return {
    data: shown.map(show),
    nextCursor: rows.length > window.limit && last ? writeCursor(keyring, list, positionOf(last)) : null,
  }
}

function writeCursor(keyring: Keyring, list: readonly (string | undefined)[], place: string): string {
  return Buffer.concat([cursorMac(keyring.current, list, place), Buffer.from(place)]).toString('base64url')
}

function readCursor(keyring: Keyring, list: readonly (string | undefined)[], cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url')
  const place = bytes.subarray(MAC_LENGTH).toString()
  if (bytes.length > MAC_LENGTH && bytes.toString('base64url') === cursor)
    for (const keys of [keyring.current, keyring.previous])
      if (keys && timingSafeEqual(bytes.subarray(0, MAC_LENGTH), cursorMac(keys, list, place))) return place
  return fail('invalid_cursor')
}

function cursorMac(keys: Keyring['current'], list: readonly (string | undefined)[], place: string): Buffer {
  return keys.hmac('cursor', JSON.stringify(list), place).subarray(0, MAC_LENGTH)
}
