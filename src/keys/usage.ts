// The use of keys is counted in memory and written in batches, so that using a key never costs a write of its own. A
// process that is killed loses at most one interval of counts. A flush whose answer was lost is sent again under the same
// id, and the database writes it once: nothing is counted twice.
//
// A key's hash can be made anew only with the key at hand: after a change of the server secret each is rehashed when the
// key is used.

import { HOUR, nowMs, SECOND } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Permission } from '../core/permissions.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Db } from '../db/db.ts'
import type { Outcome } from './schema.ts'
import {
  type Counter,
  type Flush,
  findUnlocked,
  MAX_SOURCES,
  newCounter,
  type Source,
  writeFlush,
} from './write-usage.ts'

/** `lastUsedAt` is at most 10 s behind. */
const FLUSH_MS = 5 * SECOND
/** How many keys and hours are counted at most while the database is away. */
const MAX_COUNTERS = 100_000
/** A statement may take 5 seconds: the counts of a long outage are written in parts. */
const MAX_FLUSHED = 5_000
/** A flush holds the rows of all tenants' keys, so it does not wait for long for one that somebody else has locked. */
const LOCK_TIMEOUT = '200ms'
const LAST_LOCK_TIMEOUT = '2s'
/** A process that ends waits for locked keys for so long, which is half of the time it has. */
const LAST_FLUSHES_MS = 5 * SECOND
/** Those left over are for the next flush. */
const MAX_REFUSALS = 3

type Use = {
  keyId: string
  secretNo: number
  rehashTo: string | null
  outcome: Outcome
  permissions: readonly Permission[]
  source: Source
}

export type Usage = { count(use: Use): void; flush(): Promise<void>; close(): Promise<void> }

type UsageState = {
  db: Db
  keyring: Keyring
  /** Counters in use, by the id of their key. */
  active: Map<string, Counter>
  /** Counters that wait to be written. */
  waiting: Counter[]
  /** How many counters there are: active, waiting and in the flush that was sent. */
  counters: number
  /** How many sources the active counters hold: at most as many as there may be counters. */
  sources: number
  /** Sent, and not known to be written. */
  sent: Flush | null
  lockTimeout: string
}

export function newUsage(db: Db, keyring: Keyring, flushMs = FLUSH_MS): Usage {
  const state: UsageState = {
    db,
    keyring,
    active: new Map(),
    waiting: [],
    counters: 0,
    sources: 0,
    sent: null,
    lockTimeout: LOCK_TIMEOUT,
  }
  let flushing = Promise.resolve()

  /** One flush at a time. */
  function flush(): Promise<void> {
    flushing = flushing.then(() => flushAll(state))
    return flushing
  }

  const timer = setInterval(flush, flushMs).unref()
  return {
    count: (use) => count(state, use),
    flush,
    close: async () => {
      clearInterval(timer)
      state.lockTimeout = LAST_LOCK_TIMEOUT
      const end = performance.now() + LAST_FLUSHES_MS
      do await flush()
      while (state.sent === null && state.waiting.length > 0 && performance.now() < end)
    },
  }
}

function count(state: UsageState, use: Use): void {
  const at = nowMs()
  const counter = counterOf(state, use, at - (at % HOUR))
  if (!counter) return
  const { outcome, rehashTo, permissions } = use
  if (outcome === 'VALID') {
    counter.valid += 1
    counter.usedAt = at
    noteSource(state, counter, use.source, at)
    if (rehashTo !== null) counter.rehashTo = rehashTo
    for (const permission of permissions) counter.exercised.set(permission, at)
  } else {
    counter.refused ??= {}
    counter.refused[outcome] = (counter.refused[outcome] ?? 0) + 1
  }
}

/** The next use mostly comes from the same source, and then costs a comparison. */
function noteSource(state: UsageState, counter: Counter, { ip, serviceId }: Source, at: number): void {
  const { lastSource, sources } = counter
  if (lastSource && lastSource.ip === ip && lastSource.serviceId === serviceId) {
    lastSource.at = at
    return
  }
  const name = `${serviceId} ${ip}`
  if (sources.size === 0 && state.sources >= MAX_COUNTERS) return
  counter.lastSource = { ip, serviceId, at }
  state.sources -= sources.size
  // Last in the order of the map, which is that of their last turn.
  sources.delete(name)
  sources.set(name, counter.lastSource)
  if (sources.size > MAX_SOURCES || state.sources + sources.size > MAX_COUNTERS)
    sources.delete(sources.keys().next().value as string)
  state.sources += sources.size
}

/** Null when there are as many counters as there may be. */
function counterOf(state: UsageState, { keyId, secretNo }: Use, hour: number): Counter | null {
  const newest = state.active.get(keyId) ?? null
  if (newest?.hour === hour)
    for (let counter: Counter | null = newest; counter; counter = counter.next)
      if (counter.secretNo === secretNo) return counter
  if (state.counters >= MAX_COUNTERS) return null
  state.counters += 1
  const counter = newCounter(keyId, secretNo, hour, newest)
  state.active.set(keyId, counter)
  return counter
}

async function flushAll(state: UsageState): Promise<void> {
  const { db, active, waiting } = state
  // Uses from now on belong to the next flush: under load there are always more, and this one would never end.
  for (const newest of active.values())
    for (let counter: Counter | null = newest; counter; counter = counter.next) waiting.push(counter)
  active.clear()
  state.sources = 0
  const locked: Counter[] = []
  let refusals = 0
  while (state.sent !== null || waiting.length > 0) {
    state.sent ??= { id: newId('req'), counters: waiting.splice(0, MAX_FLUSHED), answerLost: false }
    const { counters } = state.sent
    const outcome = await writeFlush(state, state.sent)
    if (outcome === 'unknown') break
    state.sent = null
    if (outcome === 'written') state.counters -= counters.length
    else {
      const unlocked = refusals < MAX_REFUSALS ? await findUnlocked(db, counters) : new Set()
      waiting.unshift(...counters.filter(({ keyId }) => unlocked.has(keyId)))
      locked.push(...counters.filter(({ keyId }) => !unlocked.has(keyId)))
      refusals += 1
    }
  }
  waiting.push(...locked)
}
