// The latest minor version of each PostgreSQL that was known when this was released. Minor versions only mend faults, many of
// them of security, so a server that is behind is named at the start, and served all the same.

import type pg from 'pg'
import { SECOND } from '../core/clock.ts'
import type { Connection } from './db.ts'
import { openSession } from './session.ts'

/** Change these with each release, from https://www.postgresql.org/support/versioning/. */
const LATEST: Record<number, { minor: number; since: string }> = {
  15: { minor: 20, since: 'November 2026' },
  16: { minor: 15, since: 'August 2026' },
  17: { minor: 11, since: 'August 2026' },
  18: { minor: 6, since: 'August 2026' },
}
const READ_MS = 2 * SECOND
const OLDEST_MAINTAINED = Math.min(...Object.keys(LATEST).map(Number))

/**
 * Says so if the server is behind. An embedded one cannot be updated by itself: it comes with a release. Where the version
 * cannot be read nothing is said: a node does not end for want of a warning.
 */
export async function warnOfOldServer(connection: Connection, say: (line: string) => void): Promise<void> {
  const fault = faultOfVersion(await readVersion(connection).catch(() => Number.POSITIVE_INFINITY))
  if (fault === null) return
  const isEmbedded = !('connectionString' in connection)
  say(
    isEmbedded
      ? `WARNING: The embedded ${fault} It has no TCP port, and no newer build is part of this release: docs/security.md says when to use a PostgreSQL of your own.`
      : `WARNING: ${fault} Update the database server.`,
  )
}

async function readVersion(connection: Connection): Promise<number> {
  const client = await openSession(connection, 'migrate', 0)
  try {
    const { rows } = await client.query<{ version: number }>({
      text: `select current_setting('server_version_num')::int as version`,
      query_timeout: READ_MS,
    } as pg.QueryConfig)
    return rows[0]?.version ?? 0
  } finally {
    client.end().catch(() => {})
  }
}

/** `version` as in server_version_num: 180004 is 18.4. Null for a version that is up to date, or newer than this table. */
export function faultOfVersion(version: number): string | null {
  const [major, minor] = [Math.floor(version / 10_000), version % 10_000]
  if (major < OLDEST_MAINTAINED) return `PostgreSQL ${major} is no longer maintained.`
  const latest = LATEST[major]
  if (!latest || minor >= latest.minor) return null
  return `PostgreSQL is version ${major}.${minor}; ${major}.${latest.minor} (${latest.since}) fixes faults in it.`
}
