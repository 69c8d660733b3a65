// Writes a backup: the tables as they are at one moment, compressed, and encrypted when there is a passphrase.

import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { encrypt, newStreamKey } from '../crypto/encrypted-stream.ts'
import type { Secret } from '../crypto/secret.ts'
import type { Connection } from '../db/db.ts'
import { openSnapshot, type Schema } from '../db/snapshot.ts'
import { framesOf, headerOf } from './file.ts'
import { type Progress, sayRows, watched } from './progress.ts'

/** Below the default of 6: the service needs the processor as well. */
const LEVEL = 4

/** The destination is left open. */
export async function writeBackup(
  connection: Connection,
  passphrase: Secret | null,
  destination: Writable,
  progress: Progress,
): Promise<{ schema: Schema; rows: number }> {
  const key = passphrase && (await newStreamKey(passphrase))
  const snapshot = await openSnapshot(connection)
  try {
    let rows = 0
    const sayTable = sayRows(progress)
    const frames = framesOf(watched(snapshot, progress), (table, count) => {
      rows += count
      sayTable(table, count)
    })
    const body = async function* (zipped: AsyncIterable<Buffer>) {
      yield headerOf(key)
      yield* key ? encrypt(key, zipped) : zipped
    }
    await pipeline(frames, createGzip({ level: LEVEL }), body, destination, { end: false })
    return { schema: snapshot.schema, rows }
  } finally {
    await snapshot.close()
  }
}
