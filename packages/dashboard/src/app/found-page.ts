// With filters a page of a list may be empty though older items match: the service looks at a number of them for each page.

import type { List, PageOf } from '@storekeeper/client'

const MAX_EMPTY = 20

/** The first page from there on with something on it, unless too many before it are empty. */
export async function nextFound<Item>(list: List<Item>, cursor?: string): Promise<PageOf<Item>> {
  let page = await list.page({ cursor })
  for (let n = 1; n < MAX_EMPTY && page.data.length === 0 && page.nextCursor !== null; n++)
    page = await list.page({ cursor: page.nextCursor })
  return page
}

/** Up to so many, the newest first, unless too many pages are empty. */
export async function findSome<Item>(list: List<Item>, max: number): Promise<Item[]> {
  const found: Item[] = []
  let cursor: string | null | undefined
  for (let empty = 0; empty < MAX_EMPTY && found.length < max && cursor !== null; ) {
    const page = await list.page({ cursor })
    found.push(...page.data)
    if (page.data.length === 0) empty += 1
    cursor = page.nextCursor
  }
  return found.slice(0, max)
}
