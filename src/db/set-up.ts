// What is set on each new connection that serves requests, and what is checked of its server.

import type pg from 'pg'
import { type Moment, NEVER, thisMoment } from '../core/moment.ts'
import { selectWithClock } from './clock-check.ts'
import { StandbyServer } from './errors.ts'

export const CONNECT_TIMEOUT_MS = 2_000
/** How far this node's time of day may move against the clock that nobody sets before a server is checked again. */
const MAX_CLOCK_SHIFT_MS = 5_000

/**
 * Every statement that serves a request finds its rows by an index, but the planner takes a batch for a hundred rows and,
 * while tables are small or their statistics young, would rather read them whole. So it is told not to: the cost of a
 * request must not depend on when the tables were last analysed (tests/query-plans.test.ts checks it). Compiling plans (jit)
 * never pays for statements this short.
 */
const SERVING_PLANS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_material: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}

const SESSION_SETTINGS = {
  timezone: 'UTC',
  datestyle: 'ISO',
  lock_timeout: '2s',
  statement_timeout: '5s',
  idle_in_transaction_session_timeout: '10s',
  // A commit that no standby has confirmed is told by a warning.
  client_min_messages: 'warning',
  ...SERVING_PLANS,
}

/**
 * Sent on each new connection. Not as start-up parameters: a pooler refuses those it does not know, or drops them without a
 * word. A commit is answered once it is on disk, whatever the server, the database or the role has set; what it waits for
 * beyond that (`local`, `remote_write`, `remote_apply`) is the operator's choice.
 */
const SET_UP = `
         ${Object.entries(SESSION_SETTINGS)
           .map(([name, value]) => `set_config('${name}', '${value}', false)`)
           .join(', ')}`
const COMMIT_AFTER_FLUSH = `
         set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), false)`

/** `commitBeforeFlush` leaves `synchronous_commit` as it is. */
export const sessionSettings = (commitBeforeFlush: boolean): string =>
  commitBeforeFlush ? SET_UP : `${SET_UP}, ${COMMIT_AFTER_FLUSH}`

/** When a new connection has led to a standby, unless one has led to the primary since. */
export type StandbySeen = { seenAt: Moment }

export async function setUpSession(client: pg.ClientBase, settings: string, standby: StandbySeen): Promise<void> {
  try {
    await checkServer(client, `${IS_STANDBY}, ${settings}`, { query_timeout: CONNECT_TIMEOUT_MS })
    standby.seenAt = NEVER
  } catch (error) {
    if (error instanceof StandbyServer) standby.seenAt = thisMoment()
    throw error
  }
  client.on('notice', ({ code, message }) => {
    if (code?.startsWith(WARNING_CLASS)) warnings.set(client, message ?? code)
  })
}

const IS_STANDBY = 'pg_is_in_recovery() as is_standby'
const checkedAt = new WeakMap<pg.ClientBase, Moment>()

/**
 * Nothing is read from a standby, which may be behind: a key that was revoked long ago would still work there. Nor is a server
 * used whose clock is not ours (clock-check.ts).
 */
async function checkServer(client: pg.ClientBase, columns = IS_STANDBY, timeout = {}): Promise<void> {
  const askedAt = thisMoment()
  const server = await selectWithClock<{ is_standby: boolean }>(client, columns, timeout)
  if (server.is_standby) throw new StandbyServer()
  checkedAt.set(client, askedAt)
}

/** A server is checked again after this node's clock was set, or its machine has slept. */
export async function checkShiftedClock(client: pg.ClientBase): Promise<void> {
  const lastCheck = checkedAt.get(client)
  if (lastCheck && isClockShifted(lastCheck)) await checkServer(client)
}

function isClockShifted({ mono, wall }: Moment): boolean {
  return Math.abs(Date.now() - wall - (performance.now() - mono)) > MAX_CLOCK_SHIFT_MS
}

/** The class of SQLSTATEs that warnings have. No statement of ours earns one, so it is about the commit. */
const WARNING_CLASS = '01'
const warnings = new WeakMap<pg.ClientBase, string>()

export const warningOf = (client: pg.ClientBase): string | undefined => warnings.get(client)
