// How the lists of an export are read: a page at a time, and before each page the export asks whether it may still go on.
// (How many pages are read at once on a node is decided in http/json-stream.ts.)

export const PAGE = 200

/** Fails when the export may not go on: its caller has signed out, or the person it is about was erased. */
export type ExportCheck = () => Promise<void>

/** Newest first, until there are no more. `read` returns the rows below a position, `positionOf` the position of a row. */
export async function* pagesOf<Row, Item>(
  check: ExportCheck,
  read: (below: string) => Promise<Row[]>,
  positionOf: (row: Row) => string,
  show: (row: Row) => Item,
): AsyncGenerator<Item[]> {
  for (let below = LAST; ; ) {
    await check()
    const rows = await read(below)
    yield rows.map(show)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    below = positionOf(last)
  }
}

/** Sorts after every id. */
export const LAST = '~'

export function idOf(row: { id: string }): string {
  return row.id
}
