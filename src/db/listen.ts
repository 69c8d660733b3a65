// Notifications from the database to every node. PostgreSQL delivers them in the order of their commits, so a node that
// receives its own heartbeat has received every notification sent before that heartbeat. `caughtUpTo` tells that moment,
// and a cache needs to know no more: a notification can be lost with its connection, but up to that moment none was.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { SECOND } from '../core/clock.ts'
import { ageOf, type Moment, NEVER, thisMoment } from '../core/moment.ts'
import { selectWithClock } from './clock-check.ts'
import type { Connection } from './db.ts'
import { driverFor } from './primary.ts'

export type Listener = {
  /** The moment up to which all notifications have been received. Asking for it keeps the heartbeat going. */
  caughtUpTo(): Moment
  /** For how many seconds a heartbeat has been waited for: 0 while each comes back, and while none is asked for. */
  lag(): number
  close(): Promise<void>
}

/** By channel, what is done with the payload of a notification. */
type Handlers = Record<string, (payload: string) => void>

const HEARTBEAT_MS = 250
/** A heartbeat that does not come back within this time means that the connection is dead, whatever TCP says. */
const DEAD_MS = 2_000
const RECONNECT_MS = 250

/**
 * A transaction that only notifies writes no row: it waits for no disk and no standby. But commits that notify wait for each
 * other, also for one that waits for its standby. A heartbeat behind such a commit gives up after a second and is sent again:
 * the connection is alive, no notification was lost, and nothing has to be forgotten.
 */
const LOCK_TIMEOUT = `set_config('lock_timeout', '1s', false)`
const LOCK_NOT_AVAILABLE = '55P03'

type ListenerState = {
  heartbeatChannel: string
  closing: AbortSignal
  caughtUpTo: Moment
  /** `caughtUpTo` was asked for since the last heartbeat. */
  isAsked: boolean
  /** Since when a heartbeat is waited for; null while none is. */
  waitingSince: Moment | null
}

/**
 * The connection was lost, or was opened again: notifications in between are unknown. `isOver`: from now on all are
 * received.
 */
type OnGap = (isOver: boolean) => void

export function listen(connection: Connection, handlers: Handlers, onGap: OnGap): Listener {
  const closing = new AbortController()
  const state: ListenerState = {
    heartbeatChannel: `heartbeat_${randomBytes(8).toString('hex')}`,
    closing: closing.signal,
    caughtUpTo: NEVER,
    isAsked: true,
    waitingSince: thisMoment(),
  }
  const listening = keepListening(connection, state, handlers, onGap)
  return {
    caughtUpTo() {
      state.isAsked = true
      return state.caughtUpTo
    },
    lag: () => (state.waitingSince === null ? 0 : ageOf(state.waitingSince) / SECOND),
    close() {
      closing.abort()
      return listening
    },
  }
}

async function keepListening(
  connection: Connection,
  state: ListenerState,
  handlers: Handlers,
  onGap: OnGap,
): Promise<void> {
  const { Client, settings } = driverFor(connection)
  while (!state.closing.aborted) {
    const client = new Client({
      ...settings,
      connectionTimeoutMillis: DEAD_MS,
      query_timeout: DEAD_MS,
      application_name: 'storekeeper listener',
    })
    await listenOnce(client, state, handlers, onGap).catch(() => {})
    onGap(false)
    state.caughtUpTo = NEVER
    state.waitingSince ??= thisMoment()
    client.end().catch(() => {})
    await sleep(RECONNECT_MS, undefined, { signal: state.closing }).catch(() => {})
  }
}

/** Ends when the connection does. */
async function listenOnce(client: pg.Client, state: ListenerState, handlers: Handlers, onGap: OnGap): Promise<void> {
  let isOpen = true
  let stop = () => {}
  const lost = new Promise<void>((resolve) => {
    stop = () => {
      isOpen = false
      resolve()
    }
  })
  client.on('error', stop)
  client.on('end', stop)
  state.closing.addEventListener('abort', stop)
  try {
    await client.connect()
    await selectWithClock(client, LOCK_TIMEOUT)
    let sentAt = NEVER
    client.on('notification', ({ channel, payload = '' }) => {
      // A notification can still arrive while the connection is being given up, after the cache has been told of the gap.
      if (!isOpen) return
      if (channel === state.heartbeatChannel) {
        state.caughtUpTo = sentAt
        state.waitingSince = null
      } else handlers[channel]?.(payload)
    })
    for (const channel of [...Object.keys(handlers), state.heartbeatChannel]) await client.query(`listen ${channel}`)
    // Entries cached while nothing was received must not be kept alive by the heartbeats that begin now.
    onGap(true)
    // One heartbeat at a time, at the beginning and while `caughtUpTo` is asked for.
    state.isAsked = true
    const beat = async () => {
      while (isOpen) {
        if (state.isAsked) {
          state.isAsked = false
          sentAt = thisMoment()
          state.waitingSince ??= sentAt
          await selectWithClock(client, `pg_notify('${state.heartbeatChannel}', '')`).catch((error) => {
            if (!(error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE)) throw error
            state.isAsked = true
          })
        }
        await sleep(HEARTBEAT_MS, undefined, { signal: state.closing })
      }
    }
    await Promise.race([lost, beat()])
  } finally {
    stop()
    state.closing.removeEventListener('abort', stop)
  }
}
