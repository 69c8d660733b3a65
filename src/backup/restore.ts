// Restores a copy of a database into an empty one, and checks it before it counts: rows, checksum, chains of events.

import type { Connection, Db } from '../db/db.ts'
import { loadDatabase } from '../db/load.ts'
import type { DatabaseCopy } from '../db/snapshot.ts'
import { sql } from '../db/sql.ts'
import { verifyStoredChains } from '../events/verify-stored.ts'
import type { BackupFile } from './file.ts'
import { countProgress, type Progress, sayRows, watched } from './progress.ts'

export type RestoreOptions = {
  /** Messages and mails that were waiting when the backup was made are not sent. */
  discardPending?: boolean
  /** Everybody signs in anew, and reset links that were not used are void. */
  endSessions?: boolean
}

export type Restored = { rows: number; events: number }

export async function restoreDatabase(
  connection: Connection,
  copy: DatabaseCopy,
  options: RestoreOptions,
  progress: Progress,
): Promise<Restored> {
  let events = 0
  const rows = await loadDatabase(connection, watched(copy, progress), {
    say: progress.say,
    loaded: sayRows(progress),
    finish: async (db) => {
      progress.say('Verifying the chains of events …')
      events = await verifyStoredChains(db, countProgress('events verified', progress))
      const has = (table: string) => copy.schema.tables.some(({ name }) => name === table)
      if (options.discardPending) await discardPending(db, has)
      if (options.endSessions) await endSessions(db, has)
    },
  })
  return { rows, events }
}

/** Reads a backup to its end, and so finds out whether it can be restored. Nothing else is needed for it. */
export async function checkBackup(file: BackupFile, progress: Progress): Promise<number> {
  let all = 0
  const copy = watched(file, progress)
  for await (const { data, rows } of copy.tables()) {
    for await (const _ of data);
    all += await rows()
  }
  await copy.sequences()
  return all
}

type Has = (table: string) => boolean

async function discardPending(db: Pick<Db, 'query'>, has: Has): Promise<void> {
  await db.query(sql`delete from webhook_outbox`)
  await db.query(sql`
    update webhook_deliveries
       set status = 'FAILED', next_attempt_at = null
     where status = 'PENDING'`)
  if (has('mails')) await db.query(sql`delete from mails`)
}

async function endSessions(db: Pick<Db, 'query'>, has: Has): Promise<void> {
  await db.query(sql`delete from sessions`)
  if (has('user_tokens')) await db.query(sql`delete from user_tokens`)
}
