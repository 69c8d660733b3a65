// Delivers what is in the outbox. The outbox was written with the change itself (by a trigger: see the migration), so
// what is in it was committed, and nothing that was committed is missing from it. Each round
//
//   1. leases deliveries that are due, a few of each webhook, and
//   2. turns a stretch of the outbox into deliveries, in one transaction; those that can be sent at once are leased there.
//
// A lease moves `next_attempt_at` ahead: if this node dies, another finds the delivery due again. That makes "at least
// once", and the event's id as `webhook-id` lets the receiver see a repetition. scheduler.ts chooses what is sent next,
// throttle.ts how much.

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tracer } from '@opentelemetry/api'
import { SECOND } from '../core/clock.ts'
import type { ReportFailure } from '../core/failures.ts'
import { findTracer } from '../core/tracing.ts'
import type { Db } from '../db/db.ts'
import type { Instance } from '../instance.ts'
import { attempt, reasonToDisable } from './attempt.ts'
import { type Endpoint, loadEndpoints, newEndpointBatch } from './endpoints.ts'
import { type FanOutState, fanOut, newFanOutState } from './fan-out.ts'
import { type DeliveryOutcome, leaseDue, type Message, recordWithRetries, releaseLeases } from './outbox.ts'
import { type EndpointQueue, newScheduler, PREFETCH, type Scheduler } from './scheduler.ts'
import type { Sender } from './sender.ts'
import { newThrottle, type Throttle } from './throttle.ts'
import { disableAfterFailure } from './webhooks.ts'

export type Dispatcher = {
  /** To be called when there may be something to send. */
  wake(): void
  /** Leases nothing more, gives requests in flight `patienceMs` to end, and releases the rest. */
  close(patienceMs: number): Promise<void>
}

/** A poll leases no more than this: what was made just now waits for it. */
const MAX_LEASED = 500
/** A poll passes by this many webhooks that have something pending, due or not, and the next one goes on behind them. */
const MAX_HOPS = 5_000
/** With this many outcomes not yet recorded no request is started. */
const MAX_UNRECORDED = 1_000
/** A poll that found nothing is followed by this many times its own duration without one. */
const REST_FACTOR = 10
/** Between polls on a crowded node at least. */
const CROWDED_REST_MS = 250

export type DispatcherTimings = {
  /** Between rounds when nobody wakes the dispatcher. */
  idleMs: number
  /** Between rounds when there is no room for more messages, or no budget to make or send them. */
  fullMs: number
  /** Between rounds at least. */
  roundMs: number
  /** After a poll that found nothing, until the next, at most. */
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

type DispatcherState = {
  db: Db
  instance: Instance
  sender: Sender
  scheduler: Scheduler
  throttle: Throttle
  timings: DispatcherTimings
  loadEndpoint: (id: string) => Promise<Endpoint | null>
  onOutcome: (outcome: string) => void
  failed: ReportFailure
  tracer: Tracer | null
  closing: AbortController
  /** Messages whose requests were broken off by closing. */
  interrupted: Message[]
  unrecorded: number
  fanOut: FanOutState
  /** Where the next poll goes on; empty when it begins anew. */
  pollCursor: string
  nextPollAt: number
  nextCrowdedPollAt: number
  woken: boolean
  /** Ends the pause between two rounds. */
  resume: () => void
}

export function newDispatcher(
  db: Db,
  instance: Instance,
  sender: Sender,
  answered: () => number,
  onOutcome: (outcome: string) => void,
  failed: ReportFailure,
  timings: Partial<DispatcherTimings> = {},
  tracer: Tracer | null = findTracer(),
): Dispatcher {
  const closing = new AbortController()
  setMaxListeners(0, closing.signal) // one for each outcome that waits to be recorded
  const endpoints = newEndpointBatch(instance)
  const throttle = newThrottle(answered, () => scheduler.pumpAll())
  const scheduler = newScheduler({
    send: (queue, message) => sendAndRecord(state, queue, message),
    release: (messages) => void releaseLeases(db, messages),
    mayStart: () => state.unrecorded < MAX_UNRECORDED && throttle.hasBudget('send') && !closing.signal.aborted,
    // Private hosts are reached in development only, and bounded by nothing.
    hostOf: ({ hostname }) =>
      hostname === null || instance.webhooks.allowPrivate ? null : (sender.addressOf(hostname) ?? hostname),
    onEmpty: () => wake(state),
  })
  const state: DispatcherState = {
    db,
    instance,
    sender,
    scheduler,
    throttle,
    timings: { ...TIMINGS, ...timings },
    loadEndpoint: (id) => db.batched(endpoints, id).catch(() => null),
    onOutcome,
    failed,
    tracer,
    closing,
    interrupted: [],
    unrecorded: 0,
    fanOut: newFanOutState(),
    pollCursor: '',
    nextPollAt: 0,
    nextCrowdedPollAt: 0,
    woken: false,
    resume: () => {},
  }
  const running = run(state)
  return {
    wake: () => wake(state),
    close: (patienceMs) => close(state, running, patienceMs),
  }
}

function wake(state: DispatcherState): void {
  state.woken = true
  state.resume()
}

async function close(state: DispatcherState, running: Promise<void>, patienceMs: number): Promise<void> {
  const { db, closing, scheduler, sender, throttle, interrupted } = state
  closing.abort()
  state.resume()
  throttle.close()
  await running
  const end = performance.now() + patienceMs
  while (scheduler.inFlight() > 0 && performance.now() < end) await sleep(20)
  await sender.close()
  while (scheduler.inFlight() + state.unrecorded > 0) await sleep(5)
  await releaseLeases(db, [...scheduler.clearAll(), ...interrupted])
}

// ---- rounds -----------------------------------------------------------------------------------------------------------

async function run(state: DispatcherState): Promise<void> {
  const { closing, scheduler, throttle, timings } = state
  while (!closing.signal.aborted) {
    const skipsPoll = untilPoll(state) > 0
    const found = scheduler.isFull() ? 0 : await tryRound(state)
    if (found === 0) await sleep(timings.roundMs, undefined, closing).catch(() => {})
    const idleMs = skipsPoll || state.pollCursor !== '' ? Math.min(untilPoll(state), timings.idleMs) : timings.idleMs
    const isHeldUp = isCrowded(state) || !throttle.hasBudget('fan-out')
    await pause(state, found > 0 ? timings.roundMs : isHeldUp ? timings.fullMs : idleMs)
  }
}

/** When the database is away nothing is lost: everything is still in it when it comes back. */
async function tryRound(state: DispatcherState): Promise<number> {
  try {
    return await round(state)
  } catch (error) {
    state.failed('webhooks', error)
    return 0
  }
}

async function pause(state: DispatcherState, ms: number): Promise<void> {
  if (!state.woken && !state.closing.signal.aborted)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      state.resume = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  state.woken = false
}

async function round(state: DispatcherState): Promise<number> {
  const due = await pollIfDue(state)
  return due + (state.throttle.hasBudget('fan-out') ? await makeDeliveries(state) : 0)
}

async function makeDeliveries(state: DispatcherState): Promise<number> {
  const { db, scheduler, throttle } = state
  const { rows, made, leased } = await fanOut(db, state.fanOut, ({ id, account }, already) => {
    const isRoom = already < scheduler.freeSlots(id, account)
    // The queue of a fast webhook is empty again soon, and what did not fit is then found by a poll.
    if (!isRoom && scheduler.isFast(id)) state.nextPollAt = 0
    return isRoom
  })
  throttle.spend('fan-out', made)
  await enqueue(state, leased)
  return rows
}

function untilPoll({ nextPollAt }: DispatcherState): number {
  return Math.max(0, nextPollAt - performance.now())
}

/** Nothing may be sent at the moment, or much waits in memory already. */
function isCrowded({ scheduler, throttle }: DispatcherState): boolean {
  return !throttle.hasBudget('send') || scheduler.isHalfFull()
}

/**
 * A poll passes by webhooks that have something pending, due or not. So when nothing was due it is not repeated at once, and
 * otherwise after a pause as long as it took. On a crowded node only accounts are polled for of which little or nothing
 * waits in memory: what others have there keeps nobody's messages in the table.
 */
async function pollIfDue(state: DispatcherState): Promise<number> {
  const { scheduler, timings } = state
  const began = performance.now()
  if (began < state.nextPollAt) return 0
  const crowded = isCrowded(state)
  if (crowded && began < state.nextCrowdedPollAt) return 0
  const due = await poll(state, crowded ? scheduler.busyAccounts() : [])
  const tookMs = performance.now() - began
  const rest = Math.min(tookMs * REST_FACTOR, timings.maxRestMs)
  state.nextPollAt = began + (due > 0 || state.pollCursor !== '' ? 2 * tookMs : rest)
  state.nextCrowdedPollAt = began + Math.max(rest, CROWDED_REST_MS)
  return due
}

async function poll(state: DispatcherState, withoutAccounts: string[]): Promise<number> {
  const { messages, next } = await leaseDue(state.db, {
    roomFor: state.scheduler.freeSlotsOfAll(),
    otherwise: PREFETCH,
    withoutAccounts,
    most: MAX_LEASED,
    after: state.pollCursor,
    hops: MAX_HOPS,
  })
  state.pollCursor = next
  await enqueue(state, messages)
  return messages.length
}

async function enqueue({ db, instance, scheduler }: DispatcherState, messages: Message[]): Promise<void> {
  if (messages.length === 0) return
  const endpoints = await loadEndpoints(db, instance, [...new Set(messages.map((message) => message.webhook_id))])
  for (const [id, endpoint] of endpoints) {
    const queue = scheduler.queueOf(id)
    setEndpoint(queue, Promise.resolve(endpoint))
    queue.hostname = new URL(endpoint.url).hostname
    scheduler.setAccount(queue, endpoint.account)
  }
  for (const message of messages)
    if (endpoints.has(message.webhook_id)) scheduler.put(scheduler.queueOf(message.webhook_id), message)
  for (const id of endpoints.keys()) scheduler.pump(scheduler.queueOf(id))
  await releaseLeases(
    db,
    messages.filter(({ webhook_id }) => !endpoints.has(webhook_id)),
  )
}

// ---- sending ----------------------------------------------------------------------------------------------------------

function setEndpoint(queue: EndpointQueue, endpoint: EndpointQueue['endpoint']): void {
  queue.endpoint = endpoint
  queue.loadedAt = performance.now()
}

function endpointOf({ loadEndpoint, timings }: DispatcherState, queue: EndpointQueue): Promise<Endpoint | null> {
  if (performance.now() - queue.loadedAt > timings.endpointTtlMs) setEndpoint(queue, loadEndpoint(queue.id))
  return queue.endpoint
}

/** Back to the table: these messages and all that wait for the same webhook. They wait until it is enabled again. */
async function release(
  { db, scheduler }: DispatcherState,
  queue: EndpointQueue,
  ...messages: Message[]
): Promise<void> {
  await releaseLeases(db, [...messages, ...scheduler.clear(queue)])
}

/** The webhook's next message does not wait until the outcome of this one is recorded. */
async function sendAndRecord(state: DispatcherState, queue: EndpointQueue, message: Message): Promise<void> {
  state.throttle.spend('send', 1)
  const sent = await send(state, queue, message)
  if (sent) void record(state, queue, sent.endpoint, sent.outcome)
}

async function send(
  state: DispatcherState,
  queue: EndpointQueue,
  message: Message,
): Promise<{ endpoint: Endpoint; outcome: DeliveryOutcome } | null> {
  const endpoint = await endpointOf(state, queue)
  if (!endpoint || queue.refused) {
    await release(state, queue, message)
    return null
  }
  const outcome = await attempt(state.sender, endpoint, message, state.tracer)
  if (outcome === null) {
    state.interrupted.push(message)
    return null
  }
  queue.isGood = outcome.status === 'DELIVERED'
  if (outcome.response_status === 410) queue.refused = true
  state.onOutcome(outcome.status === 'DELIVERED' ? 'delivered' : outcome.status === 'FAILED' ? 'given_up' : 'failed')
  return { endpoint, outcome }
}

async function record(
  state: DispatcherState,
  queue: EndpointQueue,
  endpoint: Endpoint,
  outcome: DeliveryOutcome,
): Promise<void> {
  const { db, scheduler } = state
  state.unrecorded += 1
  await recordWithRetries(db, outcome, state.closing)
  const reason = reasonToDisable(endpoint, outcome)
  if (reason) {
    await disableAfterFailure(db, queue.id, endpoint.revision, reason).catch(() => {})
    await release(state, queue)
    queue.refused = false
    scheduler.pump(queue)
  }
  state.unrecorded -= 1
  if (state.unrecorded === MAX_UNRECORDED - 1) scheduler.pumpAll()
}
