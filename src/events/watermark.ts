// How far sealing has come, as pure arithmetic over PostgreSQL's transaction ids. Events are ordered by the transaction
// that wrote them. The watermark is a position in that order: everything up to it is sealed, except for transactions
// that were still open when it was set, and those are listed with a position of their own.

/** A position in the order of transactions. */
export type Position = { tx: string; id: string }

/**
 * Everything up to the position is sealed, except for open transactions, which are sealed up to their own positions.
 */
export type Watermark = Position & { open: Position[] }

type Snapshot = { end: string; open: string[] }

/** `xmin:xmax:xip,xip`: all below `xmax` is over, but for those named. */
export function parseSnapshot(text: string): Snapshot {
  const [, end = '0', open = ''] = text.split(':')
  return { end, open: open === '' ? [] : open.split(',') }
}

export function watermarkAt({ end, open }: Snapshot): Watermark {
  return { tx: end, id: '', open: open.map((tx) => ({ tx, id: '' })) }
}

/** The watermark after `rows`, the first ones above it, have been sealed. */
export function advance(watermark: Watermark, seen: Snapshot, rows: Position[], max: number): Watermark {
  const last = rows.at(-1)
  if (!last || rows.length < max) return watermarkAt(seen)
  const { tx } = last
  // Rows of a transaction that is still open here came with a restore, under the same id: its own rows are still to
  // come.
  const id = seen.open.includes(tx) ? '' : last.id
  if (!isBefore(tx, watermark.tx))
    return { tx, id, open: watermarkAt(seen).open.filter((open) => isBefore(open.tx, tx)) }
  // The rows did not get past the open transactions: the next pass goes on from here.
  const stillOpen = watermark.open.filter(
    (open) => isBefore(tx, open.tx) || (open.tx !== tx && seen.open.includes(open.tx)),
  )
  return { ...watermark, open: [{ tx, id }, ...stillOpen] }
}

function isBefore(one: string, other: string): boolean {
  return BigInt(one) < BigInt(other)
}
