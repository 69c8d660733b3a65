// Requests that wait for the database anyway share one statement and one commit. While a batch is in flight the next one
// collects, and is sent beside it when it is large enough; there is no timer: a lone request is sent with the turn of the
// event loop it came in. A batch that is stalled, by a lock perhaps, does not stall the rest: after a moment the next one is
// sent beside it. Behind an HTTP server the
// driver's work for each statement is the cost, not the disk, and sharing it makes the difference (see `npm run bench`).
//
// Each member still succeeds or fails alone. A statement that is refused has written nothing, so its members are tried
// one by one. When the answer is lost nobody can know what was written: then nothing is tried again, and every member
// gets `unavailable`. (dataloader was the road not taken: it has neither back-pressure nor the retry one by one.)

import { type Context, context, type Tracer } from '@opentelemetry/api'
import { type OnBatchFailure, withBatchSpan } from './batch-span.ts'
import type { Batch, Db } from './db.ts'
import { isRolledBack } from './errors.ts'

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
/** A turn that has lasted this long is not waited for any more. */
const LONG_TURN_MS = 5
/** After one that has lasted this long, what has priority does not wait at all: the node has more to read than it can. */
const CROWDED_TURN_MS = 25

export function queueFor<In, Out>(queues: Queues, batch: Batch<In, Out>, db: Db): Queue<In, Out> {
  // The map holds queues of every shape; the batch that is the key tells which.
  const found = queues.byBatch.get(batch as Batch<never, unknown>) as Queue<In, Out> | undefined
  if (found) return found
  const queue = newQueue(batch, db, queues.tracer)
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

function newQueue<In, Out>(batch: Batch<In, Out>, db: Db, tracer: Tracer | null): Queue<In, Out> {
  let waiting: Waiting<In, Out>[] = []
  let inFlight = 0
  let lastSent = 0
  /** When the first row of this turn came, and how long the rest of the last turn with one took. */
  let turnBegan: number | null = null
  let lastTurnMs = 0

  function maySend(): boolean {
    if (inFlight === 0) return waiting.length > 0
    if (inFlight === 1 && waiting.length >= SECOND_BATCH_ROWS) return true
    return waiting.length > 0 && inFlight < MAX_IN_FLIGHT && performance.now() - lastSent > STALLED_MS
  }

  function flush(): void {
    if (!maySend()) return
    // The end of this turn of the event loop is waited for, so that rows of the same turn share the batch. While thousands
    // of sockets can be read, a turn may last for seconds: what has priority then does not wait for its end.
    turnBegan ??= beginTurn()
    const isLong = performance.now() - turnBegan > LONG_TURN_MS || (batch.highPriority && lastTurnMs > CROWDED_TURN_MS)
    if (isLong || waiting.length >= MAX_ROWS) void send()
  }

  function beginTurn(): number {
    setImmediate(() => {
      lastTurnMs = performance.now() - (turnBegan ?? 0)
      turnBegan = null
      if (maySend()) void send()
    })
    return performance.now()
  }

  async function send(): Promise<void> {
    const members = waiting.slice(0, MAX_ROWS)
    waiting = waiting.slice(MAX_ROWS)
    inFlight += 1
    lastSent = performance.now()
    await (tracer ? runTraced(tracer, batch, db, members) : runBatch(batch, db, members))
    inFlight -= 1
    flush()
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject, asker: tracer && context.active() })
      flush()
    })
}

function runTraced<In, Out>(tracer: Tracer, batch: Batch<In, Out>, db: Db, members: Waiting<In, Out>[]): Promise<void> {
  const askers = members.flatMap(({ asker }) => asker ?? [])
  return withBatchSpan(tracer, batch.name, askers, (failed) => runBatch(batch, db, members, failed))
}

async function runBatch<In, Out>(
  batch: Batch<In, Out>,
  db: Db,
  members: Waiting<In, Out>[],
  failed?: OnBatchFailure,
): Promise<void> {
  try {
    const results = await batch(
      db,
      members.map((member) => member.row),
    )
    members.forEach((member, i) => {
      member.resolve(results[i] as Out)
    })
  } catch (error) {
    failed?.(error)
    if (members.length > 1 && isRolledBack(error))
      await Promise.all(members.map((member) => runBatch(batch, db, [member])))
    else for (const member of members) member.reject(error)
  }
}
