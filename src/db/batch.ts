// Requests that wait for the database anyway share one statement and one commit. While a batch is on its way the next one
// collects; there is no timer: a lone request leaves with the turn of the event loop it came in. A batch that is held up,
// by a lock perhaps, does not hold up the rest: after a moment the next one leaves beside it. Behind an HTTP server the
// driver's work for each statement is the cost, not the disk, and sharing it makes the difference (see `npm run bench`).
//
// Each member still succeeds or fails alone. A statement that is refused has written nothing, so its members are tried
// one by one. When the answer is lost nobody can know what was written: then nothing is tried again, and every member
// hears `unavailable`.

import type { Db } from './db.ts'
import { nothingWritten } from './faults.ts'

/** Takes many rows, gives as many results in the same order. */
export type Batch<In, Out> = (db: Db, rows: In[]) => Promise<Out[]>
export type Queue<In, Out> = (row: In) => Promise<Out>

/** One batch at a time, unless it takes longer than this: two at a time were measured to cost a third more for each row. */
const HELD_UP_MS = 20
const MAX_IN_FLIGHT = 4
const MAX_ROWS = 64

export function queueFor<In, Out>(
  queues: Map<Batch<never, unknown>, Queue<never, unknown>>,
  batch: Batch<In, Out>,
  db: Db,
): Queue<In, Out> {
  // The map holds queues of every shape; the batch that is the key tells which.
  const found = queues.get(batch as Batch<never, unknown>) as Queue<In, Out> | undefined
  if (found) return found
  const queue = newQueue(batch, db)
  queues.set(batch as Batch<never, unknown>, queue as Queue<never, unknown>)
  return queue
}

type Waiting<In, Out> = { row: In; resolve: (result: Out) => void; reject: (error: unknown) => void }

function newQueue<In, Out>(batch: Batch<In, Out>, db: Db): Queue<In, Out> {
  let waiting: Waiting<In, Out>[] = []
  let inFlight = 0
  let lastSent = 0
  let leaving = false

  /** At the end of this turn of the event loop: whoever came in with the same turn comes along. */
  function leave(): void {
    if (leaving) return
    leaving = true
    setImmediate(() => {
      leaving = false
      if (waiting.length > 0) send()
    })
  }

  async function send(): Promise<void> {
    const members = waiting.slice(0, MAX_ROWS)
    waiting = waiting.slice(MAX_ROWS)
    inFlight += 1
    lastSent = performance.now()
    await settle(batch, db, members)
    inFlight -= 1
    if (waiting.length > 0) leave()
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject })
      if (inFlight === 0 || (inFlight < MAX_IN_FLIGHT && performance.now() - lastSent > HELD_UP_MS)) leave()
    })
}

async function settle<In, Out>(batch: Batch<In, Out>, db: Db, members: Waiting<In, Out>[]): Promise<void> {
  try {
    const results = await batch(
      db,
      members.map((member) => member.row),
    )
    members.forEach((member, i) => {
      member.resolve(results[i] as Out)
    })
  } catch (error) {
    if (members.length > 1 && nothingWritten(error))
      await Promise.all(members.map((member) => settle(batch, db, [member])))
    else for (const member of members) member.reject(error)
  }
}
