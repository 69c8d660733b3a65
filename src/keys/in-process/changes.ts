// The changes of keys, told to back ends that verify in their own process (docs/decisions/verifying-in-the-back-end.md).
// A back end is one more node: it relies on what it keeps only as far as it has certainly heard of every change. So
// three things must hold here, whatever fails:
//
// - Before a beat is written to a stream, every change that was received before the moment it names has been written to
//   that stream. `take` alone makes frames: first what waits, then the beat.
// - `from` is honest: since that moment every change was received, and is told. The ring holds the last minute of them,
//   and is emptied with every gap in the notifications (db/listen.ts).
// - A stream names only what belongs to the stores of its service token. A change of the token ends the stream; after a
//   gap, when such a change may have been missed, tokens are read again before any beat is sent.
//
// Times are those of `performance.now()` on this node, in whole milliseconds, rounded to the safe side.

import { CALLER_TTL_MS } from '../../auth/caller-cache.ts'
import { TRUSTED_MS } from '../../auth/key-cache.ts'
import { SECOND } from '../../core/clock.ts'
import { newWakeTurns, type WakeTurns } from '../../core/wake-turns.ts'
import { randomBytes } from '../../crypto/random.ts'
import { sha256 } from '../../crypto/tokens.ts'
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/sql.ts'
import type { ServiceTokensRow } from '../../db/tables.gen.ts'
import type { Instance } from '../../instance.ts'
import type { ChangeSubscriber, ChangesRequest, KeyChanges } from './schema.ts'

/** The payload is the id of a key and that of its store, or the id of a store or a service token. */
export const CHANGES_CHANNEL = 'storekeeper_changes'

const BEAT_MS = 500
/** Beats are spread, so that no turn of the event loop writes to all streams. */
const SLOTS = 20
/** Changes are gathered for this long before they are told. A beat does not wait for it. */
const GATHER_MS = 10
const LIFE_MS = 30 * SECOND
/** A change of a token is known for so long: a stream begins some time after its request has come. */
const KNOWN_FOR_MS = 60 * SECOND
/** Lives differ by up to this share, so that streams that began together do not end together. */
const LIFE_SPREAD = 0.2
/** With more changed keys of one store at a time, the store is told instead. */
const MAX_KEYS_OF_STORE = 50
/** A stream that has this many characters waiting is cut. */
const MAX_QUEUED = 64 * 1024
const REMEMBERED_MS = 60 * SECOND
const MAX_REMEMBERED = 20_000
const KEPT_WHEN_FULL = 18_000

type Change = { id: string; storeId: string; at: number }

type ChangesState = {
  db: Db
  caughtUpTo: () => number
  instance: Instance
  node: string
  /** Since when no notification was missed; infinite while there is no connection. */
  listeningSince: number
  /** The changes of the last minute, oldest first, and since when all of them are there. */
  ring: Change[]
  completeSince: number
  /** Service tokens that changed of late: a caller cache may not have known it yet when a stream was asked for. */
  tokensChangedAt: Map<string, number>
  gathered: Change[]
  gathering: NodeJS.Timeout | null
  /** Streams that have something to write, by their service tokens, which take turns. */
  told: WakeTurns
  slots: Set<ChangeSubscriber>[]
  open: number
  resets: number
  /** Runs while a stream is open. */
  beating: NodeJS.Timeout | null
  beatenAt: number
}

/** One for each node. `received` and `onGap` are for the listener. */
export type ChangesHub = KeyChanges & {
  received(id: string, storeId: string): void
  onGap(isOver: boolean): void
  open(): number
  resets(): number
  close(): void
}

export function newKeyChanges(db: Db, instance: Instance, caughtUpTo: () => number): ChangesHub {
  const state: ChangesState = {
    db,
    caughtUpTo,
    instance,
    node: Buffer.from(randomBytes(12)).toString('base64url'),
    listeningSince: Number.POSITIVE_INFINITY,
    ring: [],
    completeSince: Number.POSITIVE_INFINITY,
    tokensChangedAt: new Map(),
    gathered: [],
    gathering: null,
    told: newWakeTurns(),
    slots: Array.from({ length: SLOTS }, () => new Set()),
    open: 0,
    resets: 0,
    beating: null,
    beatenAt: 0,
  }
  return {
    node: state.node,
    catalogueOf: (storeIds) => catalogueOf(instance, storeIds),
    canJoin: (request) => canJoin(state, request),
    join: (request, wake) => join(state, request, wake),
    leave: (subscriber) => leave(state, subscriber),
    take: (subscriber) => take(state, subscriber),
    bye: (subscriber) => frame(subscriber, 'bye', '{}'),
    received: (id, storeId) => received(state, id, storeId),
    onGap: (isOver) => onGap(state, isOver),
    open: () => state.open,
    resets: () => state.resets,
    close() {
      if (state.gathering) clearTimeout(state.gathering)
      state.told.close()
      if (state.beating) clearInterval(state.beating)
    },
  }
}

function catalogueOf({ permissions }: Instance, storeIds: readonly string[] | null): string {
  return sha256(JSON.stringify([permissions, storeIds && [...storeIds].sort()]), 'base64').slice(0, 22)
}

function subscribersOf({ slots }: ChangesState): ChangeSubscriber[] {
  return slots.flatMap((slot) => [...slot])
}

// ---- what the listener tells ----------------------------------------------------------------------------------------

function received(state: ChangesState, id: string, storeId: string): void {
  const at = performance.now()
  if (id.startsWith('svc_')) return onTokenChanged(state, id, at)
  const change = { id, storeId, at }
  remember(state, change)
  if (state.open === 0) return
  state.gathered.push(change)
  state.gathering ??= setTimeout(() => distribute(state), GATHER_MS)
}

function remember(state: ChangesState, change: Change): void {
  const { ring } = state
  ring.push(change)
  // Cut in large pieces: the array is moved once for many changes.
  if (ring.length <= MAX_REMEMBERED && (ring[0] as Change).at > change.at - 2 * REMEMBERED_MS) return
  const first = ring.findIndex(({ at }) => at > change.at - REMEMBERED_MS)
  const gone = ring.splice(0, Math.max(first, ring.length - KEPT_WHEN_FULL)).at(-1)
  // A change of the same moment may be gone, too.
  if (gone) state.completeSince = Math.max(state.completeSince, gone.at + 1)
}

function onTokenChanged(state: ChangesState, id: string, at: number): void {
  const { tokensChangedAt } = state
  for (const [token, changedAt] of tokensChangedAt) {
    if (changedAt >= at - KNOWN_FOR_MS) break
    tokensChangedAt.delete(token)
  }
  // To the end: the oldest come first.
  tokensChangedAt.delete(id)
  tokensChangedAt.set(id, at)
  for (const subscriber of subscribersOf(state)) if (subscriber.serviceId === id) end(subscriber)
}

function onGap(state: ChangesState, isOver: boolean): void {
  const at = performance.now()
  state.ring = []
  state.listeningSince = isOver ? at : Number.POSITIVE_INFINITY
  state.completeSince = state.listeningSince
  const subscribers = subscribersOf(state)
  for (const subscriber of subscribers) subscriber.isHeld = true
  if (isOver && subscribers.length > 0) void resetAll(state, subscribers, at)
}

/** Streams whose token is unchanged begin anew; all others end. */
async function resetAll(state: ChangesState, subscribers: ChangeSubscriber[], from: number): Promise<void> {
  const ids = [...new Set(subscribers.map(({ serviceId }) => serviceId))]
  const tokens = await readTokens(state.db, ids).catch(() => [])
  // There was another gap since: it begins with tokens read later.
  if (state.listeningSince !== from) return
  const catalogues = new Map(tokens.map(({ id, store_ids }) => [id, catalogueOf(state.instance, store_ids)]))
  for (const subscriber of subscribers) {
    if (catalogues.get(subscriber.serviceId) !== subscriber.catalogue) end(subscriber)
    else {
      subscriber.isHeld = false
      state.resets += 1
      enqueue(state, subscriber, 'reset', JSON.stringify({ from: Math.ceil(from) }))
    }
  }
  state.told.begin()
}

function readTokens(db: Db, ids: string[]): Promise<Pick<ServiceTokensRow, 'id' | 'store_ids'>[]> {
  return db.query(sql`
    select id, store_ids
      from service_tokens
     where id = any(${ids})
       and revoked_at is null
       and require_primary()`)
}

// ---- streams --------------------------------------------------------------------------------------------------------

function join(state: ChangesState, request: ChangesRequest, wake: () => void): ChangeSubscriber | null {
  if (!canJoin(state, request)) return null
  const { serviceId, storeIds, receivedAt, backMs } = request
  const from = Math.max(receivedAt - Math.min(backMs, REMEMBERED_MS), state.completeSince)
  const subscriber: ChangeSubscriber = {
    serviceId,
    storeIds: storeIds && new Set(storeIds),
    catalogue: catalogueOf(state.instance, storeIds),
    endsAt: performance.now() + LIFE_MS * (1 + LIFE_SPREAD * (2 * Math.random() - 1)),
    queue: [],
    queued: 0,
    frames: 0,
    slot: emptiestSlot(state),
    isBeatDue: true,
    isHeld: false,
    isEnded: false,
    wake,
  }
  const hello = {
    node: state.node,
    at: Math.ceil(receivedAt),
    from: Math.ceil(from),
    prefix: state.instance.keyPrefix,
    catalogue: subscriber.catalogue,
    beatMs: BEAT_MS,
    trustMs: TRUSTED_MS,
  }
  subscriber.queue.push({ event: 'hello', data: JSON.stringify(hello) })
  // Told to the others now: to this one they are told from the ring.
  distribute(state)
  const missed = idsFor(subscriber, byStore(changesSince(state, from, subscriber)))
  if (missed) subscriber.queue.push({ event: 'changed', data: missed })
  state.slots[subscriber.slot]?.add(subscriber)
  state.open += 1
  startBeating(state)
  return subscriber
}

/** Those that concern the stream: the others may be thousands, and streams may be opened a hundred times a second. */
function changesSince({ ring }: ChangesState, from: number, { storeIds }: ChangeSubscriber): Change[] {
  const since = ring.slice(ring.findLastIndex(({ at }) => at < from) + 1)
  return storeIds === null ? since : since.filter(({ storeId }) => storeIds.has(storeId))
}

/** The caller may be known from the cache: then its token is known as it was this long ago. */
function canJoin({ listeningSince, tokensChangedAt }: ChangesState, request: ChangesRequest): boolean {
  const knownAt = request.receivedAt - CALLER_TTL_MS
  return listeningSince <= knownAt && (tokensChangedAt.get(request.serviceId) ?? Number.NEGATIVE_INFINITY) < knownAt
}

function emptiestSlot({ slots }: ChangesState): number {
  return slots.reduce((best, slot, i) => (slot.size < (slots[best] as typeof slot).size ? i : best), 0)
}

function leave(state: ChangesState, subscriber: ChangeSubscriber): void {
  if (!state.slots[subscriber.slot]?.delete(subscriber)) return
  state.told.remove(subscriber.serviceId, subscriber.wake)
  state.open -= 1
  if (state.open > 0 || !state.beating) return
  clearInterval(state.beating)
  state.beating = null
}

function startBeating(state: ChangesState): void {
  if (state.beating) return
  const tickMs = BEAT_MS / SLOTS
  state.beatenAt = performance.now()
  state.beating = setInterval(() => {
    // Asked for also where no slot is due: the listener's heart beats as long as it is asked.
    state.caughtUpTo()
    // A timer that comes late makes up for the slots it has missed.
    const from = Math.floor(state.beatenAt / tickMs)
    state.beatenAt = performance.now()
    const due = Math.min(SLOTS, Math.floor(state.beatenAt / tickMs) - from)
    for (let n = 1; n <= due; n++)
      for (const subscriber of state.slots[(from + n) % SLOTS] ?? []) {
        subscriber.isBeatDue = true
        subscriber.wake()
      }
  }, tickMs).unref()
}

/** Gives the gathered changes to the streams, which write them when they are woken, or with their next beat. */
function distribute(state: ChangesState): void {
  if (state.gathering) clearTimeout(state.gathering)
  state.gathering = null
  if (state.gathered.length === 0) return
  const changed = byStore(state.gathered)
  state.gathered = []
  const all = JSON.stringify({ ids: [...changed.values()].flat() })
  for (const subscriber of subscribersOf(state)) {
    const data = subscriber.storeIds === null ? all : idsFor(subscriber, changed)
    if (data) enqueue(state, subscriber, 'changed', data)
  }
  state.told.begin()
}

/** The ids to tell, by store. */
function byStore(changes: readonly Change[]): Map<string, string[]> {
  const stores = new Map<string, Set<string>>()
  for (const { id, storeId } of changes) {
    const ids = stores.get(storeId)
    if (!ids) stores.set(storeId, new Set([id]))
    // With more of them the store is told, whichever they are.
    else if (ids.size <= MAX_KEYS_OF_STORE) ids.add(id)
  }
  return new Map(
    [...stores].map(([storeId, ids]) => [
      storeId,
      ids.size > MAX_KEYS_OF_STORE || ids.has(storeId) ? [storeId] : [...ids],
    ]),
  )
}

function idsFor({ storeIds }: ChangeSubscriber, changed: Map<string, string[]>): string | null {
  const ids = [...(storeIds ?? changed.keys())].flatMap((storeId) => changed.get(storeId) ?? [])
  return ids.length > 0 ? JSON.stringify({ ids }) : null
}

function enqueue(state: ChangesState, subscriber: ChangeSubscriber, event: string, data: string): void {
  if (subscriber.isEnded) return
  state.told.add(subscriber.serviceId, subscriber.wake)
  subscriber.queue.push({ event, data })
  subscriber.queued += data.length
  if (subscriber.queued > MAX_QUEUED) end(subscriber)
}

/** Without another frame: what waits is dropped, so nothing may follow it. */
function end(subscriber: ChangeSubscriber): void {
  subscriber.isEnded = true
  subscriber.queue = []
  subscriber.wake()
}

function take(state: ChangesState, subscriber: ChangeSubscriber): string | null {
  distribute(state)
  if (subscriber.isEnded) return null
  let text = ''
  for (const { event, data } of subscriber.queue) text += frame(subscriber, event, data)
  subscriber.queue = []
  subscriber.queued = 0
  state.told.remove(subscriber.serviceId, subscriber.wake)
  const heardUpTo = state.caughtUpTo()
  if (subscriber.isBeatDue && !subscriber.isHeld && Number.isFinite(heardUpTo))
    text += frame(subscriber, 'beat', `{"heardUpTo":${Math.floor(heardUpTo)}}`)
  subscriber.isBeatDue = false
  return text
}

function frame(subscriber: ChangeSubscriber, event: string, data: string): string {
  subscriber.frames += 1
  return `event: ${event}\nid: ${subscriber.frames}\ndata: ${data}\n\n`
}
