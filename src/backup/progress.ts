// Tells how far a copy has come, and stops it when it is told to.

import type { DatabaseCopy, TableCopy } from '../db/snapshot.ts'

export type Progress = {
  say(line: string): void
  isInterrupted(): boolean
}

const EVERY_MS = 5_000

/** The copy, with its progress told while its tables are read. */
export function watched(copy: DatabaseCopy, progress: Progress): DatabaseCopy {
  return { ...copy, tables: () => watchedTables(copy, progress) }
}

async function* watchedTables(copy: DatabaseCopy, progress: Progress): AsyncGenerator<TableCopy> {
  let number = 0
  for await (const each of copy.tables()) {
    number += 1
    const place = `${each.table.name} (table ${number} of ${copy.schema.tables.length})`
    yield { ...each, data: watchedData(place, each.data, progress) }
  }
}

async function* watchedData(place: string, data: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  let bytes = 0
  let next = performance.now() + EVERY_MS
  for await (const part of data) {
    checkInterrupt(progress)
    yield part
    bytes += part.length
    if (performance.now() < next) continue
    progress.say(`${place}: ${Math.round(bytes / 1e6).toLocaleString('en')} MB …`)
    next = performance.now() + EVERY_MS
  }
}

/** Progress of work that counts something. */
export function countProgress(what: string, progress: Progress): (count: number) => void {
  let next = performance.now() + EVERY_MS
  return (count) => {
    checkInterrupt(progress)
    if (performance.now() < next) return
    progress.say(`${count.toLocaleString('en')} ${what} …`)
    next = performance.now() + EVERY_MS
  }
}

function checkInterrupt({ isInterrupted }: Progress): void {
  if (isInterrupted()) throw new Error('Stopped. Nothing was changed.')
}

/** One line for each table that has rows. */
export function sayRows({ say }: Progress): (table: string, rows: number) => void {
  return (table, rows) => {
    if (rows > 0) say(`${table}: ${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`)
  }
}
