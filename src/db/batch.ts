// Requests that wait for the database anyway share one statement and one commit. While a batch is in flight the next one
// collects, and is sent beside it when it is large enough; there is no timer: a lone request is sent with the turn of the
// event loop it came in. A batch that is stalled does not stall the rest: after a moment the next one is sent beside it.
// Behind an HTTP server the driver's work for each statement is the cost, not the disk, and sharing it makes the difference
// (see `npm run bench`).
//
// Each member still succeeds or fails alone. A statement that is refused has written nothing, so its members are tried again:
// those who share a lock together, and then one by one. When the answer is lost nobody can know what was written: then
// nothing is tried again, and every member gets `unavailable`. (dataloader was the road not taken: it has neither
// back-pressure nor the retry one by one.)
//
// Strangers share a batch, and must not wait for each other's locks, such as that of a store (`holderOf`). So a batch waits
// for a lock for a moment only. Those whose lock it was then wait by themselves, and so does whoever shares it and comes later.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Context, context, type Tracer } from '@opentelemetry/api'
import { groupBy } from '../core/group-by.ts'
import { type OnBatchFailure, withBatchSpan } from './batch-span.ts'
import type { Batch, Db } from './db.ts'
import { connectFailure, isLockTimeout, isRolledBack } from './errors.ts'
import { LOCK_PAUSES_MS, tryAgainBriefly, waitBriefly } from './wait-for-lock.ts'

type Queue<In, Out> = (row: In) => Promise<Out>

/** The queues of a database, each made when the first row comes. */
export type Queues = { byBatch: Map<Batch<never, unknown>, Queue<never, unknown>>; tracer: Tracer | null }

/**
 * So many rows are a batch of their own, beside one that is in flight: 7 % more keys a second at 32 connections than one
 * batch at a time. Two at a time whatever their size were measured to cost a third more for each row.
 */
const SECOND_BATCH_ROWS = 8
/** A batch that takes longer than this is waited for no more. */
const STALLED_MS = 20
const MAX_IN_FLIGHT = 4
const MAX_ROWS = 64
/** Of those who wait for the lock of one holder: more than these are refused at once. */
const MAX_LOCKED = 100
/** A turn that has lasted this long is not waited for any more. */
const LONG_TURN_MS = 5
/** After one that has lasted this long, what has priority does not wait at all: the node has more to read than it can. */
const CROWDED_TURN_MS = 25

/** Over `retryDb` go those who wait for a lock. */
export function queueFor<In, Out>(queues: Queues, batch: Batch<In, Out>, db: Db, retryDb: Db): Queue<In, Out> {
  // The map holds queues of every shape; the batch that is the key tells which.
  const found = queues.byBatch.get(batch as Batch<never, unknown>) as Queue<In, Out> | undefined
  if (found) return found
  // The connections for what verifications spend wait briefly by themselves (pool.ts).
  const ownDb = batch.holderOf && !batch.highPriority ? waitBriefly(db) : db
  const members = new BatchQueue(batch, ownDb, batch.holderOf ? retryDb : db, queues.tracer)
  const queue: Queue<In, Out> = (row) => members.add(row)
  queues.byBatch.set(batch as Batch<never, unknown>, queue as Queue<never, unknown>)
  return queue
}

type Waiting<In, Out> = {
  row: In
  resolve: (result: Out) => void
  reject: (error: unknown) => void
  /** That of the request, where there is a tracer. */
  asker: Context | null
}

class BatchQueue<In, Out> {
  readonly #batch: Batch<In, Out>
  readonly #db: Db
  readonly #retryDb: Db
  readonly #tracer: Tracer | null
  #waiting: Waiting<In, Out>[] = []
  #inFlight = 0
  /** The holders of locks that are waited for, and by how many groups. */
  readonly #locked = new Map<string, number>()
  #lastSent = 0
  /** When the first row of this turn came, and how long the rest of the last turn with one took. */
  #turnBegan: number | null = null
  #lastTurnMs = 0

  constructor(batch: Batch<In, Out>, db: Db, retryDb: Db, tracer: Tracer | null) {
    this.#batch = batch
    this.#db = db
    this.#retryDb = retryDb
    this.#tracer = tracer
  }

  add(row: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      const member = { row, resolve, reject, asker: this.#tracer && context.active() }
      if (this.#isLocked(member) && this.#countWaiting(row) >= MAX_LOCKED) return reject(connectFailure(undefined))
      this.#waiting.push(member)
      this.#flush()
    })
  }

  /** Those of the same holder. */
  #countWaiting(row: In): number {
    const { holderOf } = this.#batch
    return this.#waiting.filter((other) => holderOf?.(other.row) === holderOf?.(row)).length
  }

  #isLocked({ row }: Waiting<In, Out>): boolean {
    const { holderOf } = this.#batch
    return this.#locked.size > 0 && holderOf !== undefined && this.#locked.has(holderOf(row))
  }

  /** Those who need no lock that is waited for. */
  #ready(): Waiting<In, Out>[] {
    return this.#locked.size === 0 ? this.#waiting : this.#waiting.filter((member) => !this.#isLocked(member))
  }

  #maySend(): boolean {
    const ready = this.#ready().length
    if (this.#inFlight === 0) return ready > 0
    if (this.#inFlight === 1 && ready >= SECOND_BATCH_ROWS) return true
    return ready > 0 && this.#inFlight < MAX_IN_FLIGHT && performance.now() - this.#lastSent > STALLED_MS
  }

  #flush(): void {
    if (!this.#maySend()) return
    // The end of this turn of the event loop is waited for, so that rows of the same turn share the batch. While thousands
    // of sockets can be read, a turn may last for seconds: what has priority then does not wait for its end.
    this.#turnBegan ??= this.#beginTurn()
    const isCrowded = this.#batch.highPriority && this.#lastTurnMs > CROWDED_TURN_MS
    const isLong = performance.now() - this.#turnBegan > LONG_TURN_MS || isCrowded
    if (isLong || this.#waiting.length >= MAX_ROWS) void this.#send()
  }

  #beginTurn(): number {
    setImmediate(() => {
      this.#lastTurnMs = performance.now() - (this.#turnBegan ?? 0)
      this.#turnBegan = null
      if (this.#maySend()) void this.#send()
    })
    return performance.now()
  }

  async #send(): Promise<void> {
    const members = this.#takeReady()
    if (members.length === 0) return
    this.#inFlight += 1
    this.#lastSent = performance.now()
    const refused = await (this.#tracer
      ? runTraced(this.#tracer, this.#batch, this.#db, members, this.#retryDb)
      : runBatch(this.#batch, this.#db, members, this.#retryDb))
    this.#inFlight -= 1
    for (const group of refused) void this.#waitForLock(group)
    this.#flush()
  }

  #takeReady(): Waiting<In, Out>[] {
    const ready = this.#ready()
    const taken = ready.slice(0, MAX_ROWS)
    if (ready.length === this.#waiting.length) this.#waiting = this.#waiting.slice(MAX_ROWS)
    else {
      const isTaken = new Set(taken)
      this.#waiting = this.#waiting.filter((member) => !isTaken.has(member))
    }
    return taken
  }

  /** Whoever shares the lock and comes meanwhile waits for the end of this. */
  async #waitForLock({ holder, members, error }: Refused<In, Out>): Promise<void> {
    const locked = this.#locked
    locked.set(holder, (locked.get(holder) ?? 0) + 1)
    let refused: Refused<In, Out>[] = [{ holder, members, error }]
    for (const pauseMs of LOCK_PAUSES_MS) {
      await sleep(pauseMs)
      refused = await tryAgain(
        this.#batch,
        this.#retryDb,
        refused.map((group) => group.members),
      )
      if (refused.length === 0) break
    }
    const inVain = refused.length > 0 ? [...refused.flatMap((group) => group.members), ...this.#takeLocked(holder)] : []
    for (const { reject } of inVain) reject(error)
    const others = (locked.get(holder) ?? 1) - 1
    if (others > 0) locked.set(holder, others)
    else locked.delete(holder)
    this.#flush()
  }

  /** Those who came meanwhile for the same lock, which is not to be had. */
  #takeLocked(holder: string): Waiting<In, Out>[] {
    const isTheirs = ({ row }: Waiting<In, Out>) => this.#batch.holderOf?.(row) === holder
    const taken = this.#waiting.filter(isTheirs)
    this.#waiting = this.#waiting.filter((member) => !isTheirs(member))
    return taken
  }
}

/** Those who were refused for a lock that they share. */
type Refused<In, Out> = { holder: string; members: Waiting<In, Out>[]; error: unknown }

async function runTraced<In, Out>(
  tracer: Tracer,
  batch: Batch<In, Out>,
  db: Db,
  members: Waiting<In, Out>[],
  retryDb: Db,
): Promise<Refused<In, Out>[]> {
  const askers = members.flatMap(({ asker }) => asker ?? [])
  let refused: Refused<In, Out>[] = []
  await withBatchSpan(tracer, batch.name, askers, async (failed) => {
    refused = await runBatch(batch, db, members, retryDb, failed)
  })
  return refused
}

async function runBatch<In, Out>(
  batch: Batch<In, Out>,
  db: Db,
  members: Waiting<In, Out>[],
  retryDb: Db,
  failed?: OnBatchFailure,
): Promise<Refused<In, Out>[]> {
  const { refused, parts } = await attempt(batch, db, members, failed)
  return [...refused, ...(await tryAgain(batch, retryDb, parts))]
}

/** Nobody waits for a part of their own with the connection of an attempt in hand. */
async function tryAgain<In, Out>(
  batch: Batch<In, Out>,
  db: Db,
  parts: Waiting<In, Out>[][],
): Promise<Refused<In, Out>[]> {
  const run = async (members: Waiting<In, Out>[]) => {
    const { refused, parts } = await (batch.holderOf
      ? tryAgainBriefly(db, (brief) => attempt(batch, brief, members))
      : attempt(batch, db, members))
    return [...refused, ...(await tryAgain(batch, db, parts))]
  }
  return (await Promise.all(parts.map(run))).flat()
}

/** `parts` are to be tried again, each by itself. */
type Attempt<In, Out> = { refused: Refused<In, Out>[]; parts: Waiting<In, Out>[][] }

async function attempt<In, Out>(
  batch: Batch<In, Out>,
  db: Db,
  members: Waiting<In, Out>[],
  failed?: OnBatchFailure,
): Promise<Attempt<In, Out>> {
  try {
    resolveAll(members, await batch(db, rowsOf(members)))
    return { refused: [], parts: [] }
  } catch (error) {
    failed?.(error)
    const groups = isRolledBack(error) ? groupByHolder(batch, members) : new Map<string, Waiting<In, Out>[]>()
    const [holder] = groups.keys()
    if (groups.size === 1 && holder !== undefined && isLockTimeout(error))
      return { refused: [{ holder, members, error }], parts: [] }
    if (members.length > 1 && isRolledBack(error))
      return { refused: [], parts: groups.size > 1 ? [...groups.values()] : members.map((member) => [member]) }
    for (const { reject } of members) reject(error)
    return { refused: [], parts: [] }
  }
}

const rowsOf = <In, Out>(members: Waiting<In, Out>[]) => members.map(({ row }) => row)

function resolveAll<In, Out>(members: Waiting<In, Out>[], results: Out[]): void {
  members.forEach(({ resolve }, i) => {
    resolve(results[i] as Out)
  })
}

function groupByHolder<In, Out>(
  { holderOf }: Batch<In, Out>,
  members: Waiting<In, Out>[],
): Map<string, Waiting<In, Out>[]> {
  return holderOf ? groupBy(members, ({ row }) => holderOf(row)) : new Map()
}
