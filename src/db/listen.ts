// Words from the database to every node. PostgreSQL hands them out in the order of their commits, so a node that hears its
// own heartbeat has heard all that was said before it sent the beat. That is what `heardUpTo` tells, and it is all that
// whoever keeps something in memory has to know: a word can be lost with its connection, the moment up to which we have
// certainly heard everything cannot.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Connection } from './db.ts'

export type Listener = {
  /** The moment, on `performance.now()`'s clock, up to which everything said has been heard. Asking keeps the heart beating. */
  heardUpTo(): number
  close(): Promise<void>
}

/** For each channel what is done with a word. */
type Ears = Record<string, (word: string) => void>

const BEAT_MS = 250
/** A beat that does not come back for so long means that the connection is dead, whatever TCP says. */
const DEAD_MS = 2_000
const RECONNECT_MS = 250

/** `missed`: the connection was lost, or is there again: whatever was said in between is unknown. */
export function listen(connection: Connection, ears: Ears, missed: () => void): Listener {
  const pulse = `pulse_${randomBytes(8).toString('hex')}`
  const closing = new AbortController()
  let heardUpTo = Number.NEGATIVE_INFINITY
  let asked = true

  /** Ends when the connection does. */
  async function hear(client: pg.Client): Promise<void> {
    let open = true
    let stop = () => {}
    const lost = new Promise<void>((resolve) => {
      stop = () => {
        open = false
        resolve()
      }
    })
    client.on('error', stop)
    client.on('end', stop)
    closing.signal.addEventListener('abort', stop)
    try {
      await client.connect()
      let sentAt = Number.NEGATIVE_INFINITY
      client.on('notification', ({ channel: from, payload = '' }) => {
        // A word can still come in while the connection is being given up: what it says has been given up too.
        if (!open) return
        if (from === pulse) heardUpTo = sentAt
        else ears[from]?.(payload)
      })
      for (const channel of [...Object.keys(ears), pulse]) await client.query(`listen ${channel}`)
      // What was kept while nobody listened must not live on by the beats that come now.
      missed()
      // One beat at a time, and only while somebody relies on what was heard.
      const beat = async () => {
        while (open) {
          if (asked) {
            asked = false
            sentAt = performance.now()
            await client.query(`notify ${pulse}`)
          }
          await sleep(BEAT_MS, undefined, { signal: closing.signal })
        }
      }
      await Promise.race([lost, beat()])
    } finally {
      stop()
      closing.signal.removeEventListener('abort', stop)
    }
  }

  async function keepListening(): Promise<void> {
    while (!closing.signal.aborted) {
      const client = new pg.Client({
        ...connection,
        connectionTimeoutMillis: DEAD_MS,
        query_timeout: DEAD_MS,
        keepAlive: true,
        application_name: 'storekeeper listener',
        // A beat is worth no disk.
        options: '-c synchronous_commit=off',
      })
      await hear(client).catch(() => {})
      heardUpTo = Number.NEGATIVE_INFINITY
      missed()
      client.end().catch(() => {})
      await sleep(RECONNECT_MS, undefined, { signal: closing.signal }).catch(() => {})
    }
  }

  const listening = keepListening()
  return {
    heardUpTo() {
      asked = true
      return heardUpTo
    },
    close() {
      closing.abort()
      return listening
    },
  }
}
