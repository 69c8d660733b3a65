// Of a damaged file nothing is believed: an altered bit, in whichever byte, is found in the frame that it is in, before anybody
// acts on it.

import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { DatabaseCopy } from '../db/snapshot.ts'
import { framesOf, headerOf, openBackup } from './file.ts'

const TABLES = [
  { name: 'stores', columns: ['id', 'name'] },
  { name: 'api_keys', columns: ['id'] },
]
const ROWS: Record<string, string> = { stores: 'store_1\tOne\nstore_2\tTwo\n', api_keys: 'key_1\n' }

const COPY: DatabaseCopy = {
  schema: {
    at: '2026-01-01T00:00:00.000Z',
    serverVersion: '17.0',
    migrations: [{ version: 1, name: 'first', checksum: 'ab' }],
    secrets: [],
    tables: TABLES,
  },
  async *tables() {
    for (const table of TABLES) {
      const data = ROWS[table.name] as string
      yield { table, data: streamOf(Buffer.from(data)), rows: async () => data.split('\n').length - 1 }
    }
  },
  sequences: async () => ({ 'stores.position': '2' }),
}

test('whichever byte of a backup is altered, what is read until it is found is what was written', async () => {
  const frames = await collect(framesOf(COPY, () => {}))
  const written: unknown[] = []
  expect(await read(frames, written)).toBe(null)
  expect(written).toHaveLength(8)
  for (let at = 0; at < frames.length; at++) {
    const altered = Buffer.from(frames)
    altered[at] = (altered[at] as number) ^ (1 << (at & 7))
    const found: unknown[] = []
    expect(await read(altered, found), `byte ${at}`).toMatch(/^This backup is (damaged|incomplete): .*\.$/)
    expect(found, `byte ${at}`).toEqual(written.slice(0, found.length))
  }
})

test('a file whose second line is not an object is refused in a sentence', async () => {
  for (const line of ['null', '7', '"x"', '[]', '{']) {
    const file = Buffer.concat([Buffer.from(`storekeeper backup 1\n${line}\n`), gzipSync('')])
    await expect(openBackup(streamOf(file), null)).rejects.toThrow(/^This backup is (damaged: .*|encrypted in .*)\.$/)
  }
})

/** Puts down all that is read of a backup with these frames. Returns the message of the error that ended it. */
async function read(frames: Buffer, found: unknown[]): Promise<string | null> {
  try {
    const file = await openBackup(streamOf(Buffer.concat([headerOf(null), gzipSync(frames, { level: 0 })])), null)
    found.push(file.schema)
    for await (const { table, data, rows } of file.tables()) {
      found.push(table)
      for await (const part of data) found.push(part.toString())
      found.push(await rows())
    }
    found.push(await file.sequences())
    return null
  } catch (error) {
    return (error as Error).message
  }
}

async function* streamOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

async function collect(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all)
}
