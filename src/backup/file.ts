// The file of a backup. Two lines of text say what it is and how it is encrypted; the rest is one gzip stream, encrypted
// when a passphrase was given. In it are frames: a letter, a length, that many bytes, and the SHA-256 of all frames up to
// there, so that nothing is believed that was damaged, not even on the way to the end.
//
//   M  JSON: the version that wrote it, and the schema (db/snapshot.ts)
//   T  JSON: a table and its columns, followed by
//   D  rows in the text format of COPY, and
//   R  JSON: how many rows there were
//   E  JSON: the sequences. A file without it was cut off
//
// The server secret is not in it.

import { createHash, type Hash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { VERSION } from '../core/version.ts'
import { BrokenStream, decrypt, openStreamKey, type StreamKey } from '../crypto/encrypted-stream.ts'
import type { Secret } from '../crypto/secret.ts'
import type { DatabaseCopy, Schema, Sequences, Table, TableCopy } from '../db/snapshot.ts'
import { ByteReader, CutOff } from './byte-reader.ts'

const MAGIC = 'storekeeper backup 1'
const ENCRYPTION = 'scrypt, aes-256-gcm'
const MAX_LINE_BYTES = 1_024
const DATA_BYTES = 256 * 1024
const CHECKSUM_BYTES = 32
/** Rows are written in frames of that size and one row more at most; the schema is smaller by far. */
const MAX_FRAME_BYTES = 1024 ** 3

/** The file cannot be restored, and why. */
class UnusableBackup extends Error {}

// ---- writing ------------------------------------------------------------------------------------------------------------

export function headerOf(key: StreamKey | null): Buffer {
  const encryption = key && { encryption: ENCRYPTION, salt: key.salt, check: key.check }
  return Buffer.from(`${MAGIC}\n${JSON.stringify(encryption ?? { encryption: null })}\n`)
}

/** `wrote` hears of each table. */
export async function* framesOf(
  copy: DatabaseCopy,
  wrote: (table: string, rows: number) => void,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const frame = (letter: string, body: unknown) => {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    const start = Buffer.alloc(5, letter)
    start.writeUInt32BE(bytes.length, 1)
    hash.update(start).update(bytes)
    return Buffer.concat([start, bytes, checksumOf(hash)])
  }
  yield frame('M', { storekeeper: VERSION, ...copy.schema })
  for await (const { table, data, rows } of copy.tables()) {
    yield frame('T', table)
    for await (const bytes of inParts(data)) yield frame('D', bytes)
    const count = await rows()
    yield frame('R', { rows: count })
    wrote(table.name, count)
  }
  yield frame('E', { sequences: await copy.sequences() })
}

/** The server sends a few rows at a time. */
async function* inParts(data: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [parts, size]: [Buffer[], number] = [[], 0]
  for await (const bytes of data) {
    parts.push(bytes)
    size += bytes.length
    if (size < DATA_BYTES) continue
    yield Buffer.concat(parts)
    ;[parts, size] = [[], 0]
  }
  if (size > 0) yield Buffer.concat(parts)
}

function checksumOf(frames: Hash): Buffer {
  return frames.copy().digest()
}

// ---- reading ------------------------------------------------------------------------------------------------------------

export type BackupFile = DatabaseCopy & { writtenBy: string }

/** Reads as far as the schema. A fault further on is thrown where it is met. */
export async function openBackup(source: AsyncIterable<Buffer>, passphrase: Secret | null): Promise<BackupFile> {
  try {
    const outer = new ByteReader(source)
    const key = await readHeader(outer, passphrase)
    const body = key ? decrypt(key, outer.rest()) : outer.rest()
    const frames = newFrames(new ByteReader(gunzip(body)))
    const { storekeeper, ...schema } = await frames.json<Schema & { storekeeper: string }>('M')
    return {
      schema,
      writtenBy: storekeeper,
      tables: () => explained(tablesIn(frames, schema.tables)),
      sequences: () => readEnd(frames).catch(explain),
    }
  } catch (error) {
    return explain(error)
  }
}

async function readHeader(outer: ByteReader, passphrase: Secret | null): Promise<StreamKey | null> {
  const magic = await outer.line(MAX_LINE_BYTES).catch(() => '')
  if (magic !== MAGIC)
    throw new UnusableBackup(
      /^storekeeper backup \d+$/.test(magic)
        ? 'This backup was written by a later version of Storekeeper: restore it with that version.'
        : 'This is not a backup of Storekeeper.',
    )
  const { encryption, salt, check } = JSON.parse(await outer.line(MAX_LINE_BYTES)) ?? {}
  if (encryption === null) {
    if (passphrase)
      throw new UnusableBackup('This backup is not encrypted, so it may be anybody’s: restore it without a passphrase.')
    return null
  }
  if (encryption !== ENCRYPTION) throw new UnusableBackup('This backup is encrypted in an unknown way.')
  if (!passphrase)
    throw new UnusableBackup(
      'This backup is encrypted: give its passphrase in BACKUP_PASSPHRASE, or in a file with --passphrase-file.',
    )
  const key = await openStreamKey(passphrase, String(salt), String(check))
  if (!key) throw new UnusableBackup('The passphrase is not the one that this backup was encrypted with.')
  return key
}

async function* tablesIn(frames: Frames, tables: Table[]): AsyncGenerator<TableCopy> {
  for (const _ of tables) {
    const table = await frames.json<Table>('T')
    yield {
      table,
      data: explained(frames.data()),
      rows: async () => (await frames.json<{ rows: number }>('R').catch(explain)).rows,
    }
  }
}

async function readEnd(frames: Frames): Promise<Sequences> {
  const { sequences } = await frames.json<{ sequences: Sequences }>('E')
  if (!(await frames.atEnd())) throw new BrokenStream()
  return sequences
}

type Frames = ReturnType<typeof newFrames>

function newFrames(reader: ByteReader) {
  const hash: Hash = createHash('sha256')
  let start: Buffer = Buffer.alloc(0)
  let letter: string | null = null
  let size = 0
  const peek = async () => {
    if (letter !== null) return letter
    start = await reader.take(5)
    size = start.readUInt32BE(1)
    if (size > MAX_FRAME_BYTES) throw new BrokenStream()
    letter = start.toString('latin1', 0, 1)
    return letter
  }
  const body = async () => {
    letter = null
    const bytes = await reader.take(size)
    hash.update(start).update(bytes)
    if (!checksumOf(hash).equals(await reader.take(CHECKSUM_BYTES))) throw new BrokenStream()
    return bytes
  }
  return {
    async json<T>(expected: string): Promise<T> {
      if ((await peek()) !== expected) throw new BrokenStream()
      return JSON.parse((await body()).toString())
    },
    async *data(): AsyncGenerator<Buffer> {
      while ((await peek()) === 'D') yield await body()
    },
    atEnd: () => reader.atEnd(),
  }
}

async function* gunzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unzip = createGunzip()
  const feeding = pipeline(source, unzip)
  feeding.catch(() => {}) // it is thrown below as well
  try {
    yield* unzip
  } finally {
    unzip.destroy()
  }
}

async function* explained<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    explain(error)
  }
}

function explain(error: unknown): never {
  const code = String((error as NodeJS.ErrnoException).code)
  if (error instanceof CutOff || code === 'Z_BUF_ERROR')
    throw new UnusableBackup('This backup is incomplete: its end is missing.')
  if (error instanceof BrokenStream || error instanceof SyntaxError || code.startsWith('Z_'))
    throw new UnusableBackup('This backup is damaged: it was altered, or its end is missing.')
  throw error
}
