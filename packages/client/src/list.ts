// A list of the service, which comes in pages.

import type { ReadOptions } from './options.ts'

export interface PageOf<Item> {
  data: Item[]
  nextCursor: string | null
}

/** `for await (const item of list)` reads page after page as it goes. */
export interface List<Item, Page = PageOf<Item>> extends AsyncIterable<Item> {
  /** One page: the first, or the one that `cursor` leads to. */
  page(where?: { cursor?: string | null | undefined }): Promise<Page>
  /** All items, at most so many. */
  toArray(bounds: { max: number }): Promise<Item[]>
}

const LARGEST_PAGE = 100

type PageQuery = { limit?: number; cursor?: string }

export function listOf<Item>(
  query: PageQuery,
  read: (query: PageQuery, options: ReadOptions) => Promise<PageOf<Item>>,
  options: ReadOptions,
): List<Item> {
  async function* items(limit: number): AsyncGenerator<Item, void, undefined> {
    let cursor: string | null | undefined = query.cursor
    do {
      const page: PageOf<Item> = await read({ ...query, limit, ...(cursor ? { cursor } : {}) }, options)
      yield* page.data
      cursor = page.nextCursor
    } while (cursor)
  }
  const limit = query.limit ?? LARGEST_PAGE
  return {
    [Symbol.asyncIterator]: () => items(limit),
    page: ({ cursor } = {}) => read({ ...query, ...(cursor ? { cursor } : {}) }, options),
    async toArray({ max }) {
      const all: Item[] = []
      if (max < 1) return all
      for await (const item of items(Math.min(limit, max))) if (all.push(item) >= max) break
      return all
    },
  }
}
