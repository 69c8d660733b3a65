// Hands out what happened. The outbox was written with the change itself (by a trigger: see the migration), so what is in
// it was committed, and nothing that was committed is missing from it. Each round
//
//   1. takes up deliveries that are due, a few for each webhook, and
//   2. turns a stretch of the outbox into deliveries, in one transaction; those that can be sent at once are ours already.
//
// Whoever takes a delivery moves `next_attempt_at` ahead: if this node dies, another finds it due again. That makes "at
// least once", and the event's id as `webhook-id` lets the receiver see a repetition. Whose turn it is, lanes.ts knows.

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ago, now, SECOND } from '../core/clock.ts'
import type { ReportFailure } from '../core/failures.ts'
import type { Batch, Db } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { type FastPath, FEW, newLanes } from './lanes.ts'
import type { Outlet, Reply, Trouble } from './outlet.ts'
import { newPace } from './pace.ts'
import { type Endpoint, fanOut, letGo, loadEndpoints, type Message, type Outcome, settle, takeDue } from './queue.ts'
import { FAILING_MS, nextTry } from './schedule.ts'
import { signedHeaders } from './signature.ts'
import { disableWebhook } from './webhooks.ts'

export type Dispatcher = {
  /** Something may be there to send. */
  wake(): void
  /** Takes up nothing more, gives what is under way so long, and lets go of the rest. */
  close(patienceMs: number): Promise<void>
}

/** With so many at hand nothing more is taken up, and never more than so many at a time. */
const MAX_WAITING = 10_000
const MAX_TAKEN = 2_000
/** So many answers may be waiting to be written down before nothing new is begun. */
const MAX_UNWRITTEN = 1_000
/** A look that finds nothing is followed by so many times as long without one. */
const REST_FACTOR = 10
/** What turning an event into a delivery costs, when sending one is 1. */
const FAN_OUT_COST = 0.25

export type DispatcherTimings = {
  /** Between rounds when nobody wakes the dispatcher. */
  idleMs: number
  /** Between rounds when there is no room for more. */
  fullMs: number
  /** Between rounds at least. */
  roundMs: number
  /** After a look that found nothing, until the next, at most. */
  maxRestMs: number
  /** How long a webhook's URL and secrets are used before they are read again. */
  endpointTtlMs: number
}

const TIMINGS: DispatcherTimings = {
  idleMs: SECOND,
  fullMs: 100,
  roundMs: 20,
  maxRestMs: 3 * SECOND,
  endpointTtlMs: 200,
}

export function newDispatcher(
  db: Db,
  instance: Instance,
  outlet: Outlet,
  answered: () => number,
  told: (outcome: string) => void,
  failed: ReportFailure,
  timings: Partial<DispatcherTimings> = {},
): Dispatcher {
  const { idleMs, fullMs, roundMs, maxRestMs, endpointTtlMs } = { ...TIMINGS, ...timings }
  const closing = new AbortController()
  setMaxListeners(0, closing.signal) // one for each answer that waits to be written down
  const brokenOff: Message[] = []
  let unwritten = 0
  let takenUpTo = ''
  let lookAgainAt = 0
  let woken = false
  let resume = () => {}
  const wake = () => {
    woken = true
    resume()
  }
  const lanes = newLanes({
    send: sendAndNote,
    letGo: (messages) => void letGo(db, messages),
    mayBegin: () => unwritten < MAX_UNWRITTEN && pace.left() && !closing.signal.aborted,
    emptied: wake,
  })
  const pace = newPace(answered, lanes.advanceAll)
  const meetMany: Batch<string, Endpoint | null> = async (db, ids) => {
    const found = await loadEndpoints(db, instance, ids)
    return ids.map((id) => found.get(id) ?? null)
  }

  // ---- rounds -------------------------------------------------------------------------------------------------------

  async function keepGoing(): Promise<void> {
    while (!closing.signal.aborted) {
      const mayTake = pace.left() && lanes.waiting() < MAX_WAITING
      const rests = untilLook() > 0
      const found = mayTake ? await roundSurely() : 0
      if (found === 0) await sleep(roundMs, undefined, closing).catch(() => {})
      await pause(found > 0 ? roundMs : !mayTake ? fullMs : rests ? Math.min(untilLook(), idleMs) : idleMs)
    }
  }

  /** When the database is away nothing is lost: it is all still there when it comes back. */
  async function roundSurely(): Promise<number> {
    try {
      return await round()
    } catch (error) {
      failed('webhooks', error)
      return 0
    }
  }

  async function pause(ms: number): Promise<void> {
    if (!woken && !closing.signal.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        resume = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    woken = false
  }

  async function round(): Promise<number> {
    const due = untilLook() === 0 ? await look() : 0
    const fresh = await fanOut(db, (id, already) => {
      const isRoom = already < lanes.roomFor(id)
      // What a quick one has no room for now it has room for soon.
      if (!isRoom && lanes.isQuick(id)) lookAgainAt = 0
      return isRoom
    })
    pace.spend(fresh.made * FAN_OUT_COST)
    await enqueue(fresh.taken)
    return due + fresh.made
  }

  function untilLook(): number {
    return Math.max(0, lookAgainAt - performance.now())
  }

  /** Passes by every webhook that has something pending. So when nothing was due, it is not done again at once. */
  async function look(): Promise<number> {
    const began = performance.now()
    const due = await takeDue(db, { roomFor: lanes.shareOut(), otherwise: FEW, after: takenUpTo, most: MAX_TAKEN })
    const rest = Math.min((performance.now() - began) * REST_FACTOR, maxRestMs)
    lookAgainAt = due.length > 0 ? 0 : began + rest
    await enqueue(due)
    // Where one look ends the next goes on, so that nobody is left out because of their name.
    const before = takenUpTo
    takenUpTo = due.length < MAX_TAKEN ? '' : due.map(({ webhook_id }) => webhook_id).reduce(laterOf, '')
    if (before > takenUpTo) {
      lookAgainAt = 0
      wake()
    }
    return due.length
  }

  async function enqueue(messages: Message[]): Promise<void> {
    if (messages.length === 0) return
    const endpoints = await loadEndpoints(db, instance, [...new Set(messages.map((message) => message.webhook_id))])
    for (const [id, endpoint] of endpoints) meet(lanes.of(id), Promise.resolve(endpoint))
    const [ours, left] = split(messages, ({ webhook_id }) => endpoints.has(webhook_id))
    for (const message of ours) lanes.put(lanes.of(message.webhook_id), message)
    for (const id of endpoints.keys()) lanes.advance(lanes.of(id))
    await letGo(db, left)
  }

  // ---- sending ------------------------------------------------------------------------------------------------------

  function meet(fastPath: FastPath, endpoint: FastPath['endpoint']): void {
    fastPath.endpoint = endpoint
    fastPath.metAt = performance.now()
  }

  function endpointOf(fastPath: FastPath): Promise<Endpoint | null> {
    if (performance.now() - fastPath.metAt > endpointTtlMs)
      meet(
        fastPath,
        db.batched(meetMany, fastPath.id).catch(() => null),
      )
    return fastPath.endpoint
  }

  /** It waits until the webhook is on again. */
  async function giveBack(fastPath: FastPath, ...messages: Message[]): Promise<void> {
    await letGo(db, [...messages, ...lanes.clear(fastPath)])
  }

  /** The next message does not wait until the answer to this one is written down. */
  async function sendAndNote(fastPath: FastPath, message: Message): Promise<void> {
    pace.spend(1)
    const sent = await send(fastPath, message)
    if (sent) note(fastPath, message, sent.endpoint, sent.outcome)
  }

  async function send(fastPath: FastPath, message: Message): Promise<{ endpoint: Endpoint; outcome: Outcome } | null> {
    const endpoint = await endpointOf(fastPath)
    if (!endpoint || fastPath.refused) {
      await giveBack(fastPath, message)
      return null
    }
    const at = now()
    const began = performance.now()
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Storekeeper-Webhooks/1',
      ...signedHeaders(endpoint.secrets, message.event_id, at, message.body),
    }
    const result =
      endpoint.secrets.length === 0
        ? { trouble: 'secret_unreadable' as const }
        : await outlet.post(endpoint.url, headers, message.body)
    if (result === null) {
      brokenOff.push(message)
      return null
    }
    const ms = Math.round(performance.now() - began)
    const outcome = judge(message, at, ms, result)
    fastPath.isGood = outcome.status === 'DELIVERED'
    if (outcome.response_status === 410) fastPath.refused = true
    told(outcome.status === 'DELIVERED' ? 'delivered' : outcome.status === 'FAILED' ? 'given_up' : 'failed')
    return { endpoint, outcome }
  }

  async function note(fastPath: FastPath, message: Message, endpoint: Endpoint, outcome: Outcome): Promise<void> {
    unwritten += 1
    await settleSurely(outcome)
    const reason = reasonToDisable(endpoint, outcome)
    if (reason) {
      await disableWebhook(db, message.webhook_id, endpoint.revision, reason).catch(() => {})
      await giveBack(fastPath)
      fastPath.refused = false
      lanes.advance(fastPath)
    }
    unwritten -= 1
    if (unwritten === MAX_UNWRITTEN - 1) lanes.advanceAll()
  }

  /** Tried for as long as the delivery is ours. Should it not be written down, it is sent once more, under the same id. */
  async function settleSurely(outcome: Outcome): Promise<void> {
    for (let tries = 1; tries <= 5 && !closing.signal.aborted; tries++) {
      try {
        return await db.batched(settle, outcome)
      } catch {
        await sleep(250 * tries, undefined, closing).catch(() => {})
      }
    }
    await db.batched(settle, outcome).catch(() => {})
  }

  const going = keepGoing()
  return {
    wake,
    async close(patienceMs) {
      closing.abort()
      resume()
      pace.close()
      await going
      const end = performance.now() + patienceMs
      while (lanes.underWay() > 0 && performance.now() < end) await sleep(20)
      await outlet.close()
      while (lanes.underWay() + unwritten > 0) await sleep(5)
      await letGo(db, [...lanes.clearAll(), ...brokenOff])
    },
  }
}

function split<T>(all: T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other
}

function judge(message: Message, at: Date, durationMs: number, result: Reply | { trouble: Trouble }): Outcome {
  const { webhook_id, id, cause } = message
  const attempts = message.attempts + 1
  const reply = 'trouble' in result ? null : result
  const delivered = reply !== null && reply.status >= 200 && reply.status < 300
  const over = delivered || cause === 'TEST'
  const next = over ? null : nextTry(attempts, now(), reply?.retryAfter ?? null, Math.random())
  return {
    webhook_id,
    id,
    status: delivered ? 'DELIVERED' : next ? 'PENDING' : 'FAILED',
    attempts,
    at,
    next_attempt_at: next,
    duration_ms: durationMs,
    response_status: reply?.status ?? null,
    response_body: reply?.body ?? null,
    error: 'trouble' in result ? result.trouble : null,
  }
}

function reasonToDisable({ failingSince }: Endpoint, outcome: Outcome): 'GONE' | 'FAILING' | null {
  if (outcome.response_status === 410) return 'GONE'
  const failing = outcome.status !== 'DELIVERED' && failingSince !== null && failingSince <= ago(FAILING_MS)
  return failing ? 'FAILING' : null
}
