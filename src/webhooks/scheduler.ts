// Which message is sent next. Each webhook has a queue of its own, and queues take turns, one message at a time. A request
// starts in the fastest tier; when it takes longer than that tier allows it moves to the next, and its webhook starts there
// for the next half minute. So however many webhooks are slow, the fast ones wait only for each other, and those that take
// a second do not wait for those that never answer (docs/decisions/webhooks.md: two tiers were tried).

import { addMs, now, SECOND } from '../core/clock.ts'
import type { Endpoint } from './endpoints.ts'
import { HOST_LIMITS, type HostGate, type HostLimits, newHostGate } from './host-limits.ts'
import { type Message, START_WITHIN_MS } from './outbox.ts'

/**
 * How long a request counts in a tier, how many requests there may be in it, how many of them to one webhook that answered
 * well the last time (to any other, one), and how many more of its messages wait in memory. A request that waits for its
 * answer costs a connection and little more.
 */
const TIERS = [
  { untilMs: 250, capacity: 200, perEndpoint: 4, prefetch: 200 },
  { untilMs: 2_000, capacity: 500, perEndpoint: 4, prefetch: 8 },
  { untilMs: Number.POSITIVE_INFINITY, capacity: 500, perEndpoint: 1, prefetch: 1 },
] as const
const SLOW_FOR_MS = 30 * SECOND
/** Of a webhook that has not answered well no more messages than this wait in memory. */
export const PREFETCH = 8
/** With this many messages in memory, or characters of them, nothing more is leased. */
const MAX_WAITING = 10_000
const MAX_WAITING_CHARACTERS = 32_000_000
/** Once this many messages wait in memory, of all webhooks, no webhook prefetches more than PREFETCH. */
const MANY_WAITING = 2_000

export type EndpointQueue = {
  id: string
  waiting: Message[]
  inFlight: number
  /** The webhook's last answer was a success. */
  isGood: boolean
  /** The webhook has just answered 410. */
  refused: boolean
  /** Null when the webhook was deleted or disabled. */
  endpoint: Promise<Endpoint | null>
  /** Of the endpoint's URL; null until it was loaded. */
  hostname: string | null
  /** Of the endpoint (endpoints.ts); the webhook's own id until it was loaded. */
  account: string
  loadedAt: number
}

/** A queue that found no capacity stands in the waitlist, and is admitted for one message at a time. */
type SpeedTier = (typeof TIERS)[number] & { index: number; inFlight: number; waitlist: Set<EndpointQueue> }

type Request = {
  queue: EndpointQueue
  tier: SpeedTier
  began: number
  timer?: NodeJS.Timeout
}

type SchedulerState = {
  hooks: Hooks
  queues: Map<string, EndpointQueue>
  tiers: SpeedTier[]
  fastest: SpeedTier
  /** Webhooks that start in another tier, and until when; the first is the next whose messages are leased. */
  slow: Map<string, { tier: SpeedTier; until: number }>
  waiting: number
  waitingCharacters: number
  hosts: HostGate<EndpointQueue>
}

type Hooks = {
  /** Resolves when the request is over; never rejects. */
  send(queue: EndpointQueue, message: Message): Promise<void>
  /** Called with messages that leave memory unsent. */
  release(messages: Message[]): void
  mayStart(): boolean
  /** What the bound for each host counts by; null where there is none. */
  hostOf(queue: EndpointQueue): string | null
  /** Called when a queue has run empty. */
  onEmpty(): void
}

export type Scheduler = {
  /** The queue of a webhook, made if there is none. */
  queueOf(id: string): EndpointQueue
  put(queue: EndpointQueue, message: Message): void
  /** Removes and returns the waiting messages of one queue, or of all. */
  clear(queue: EndpointQueue): Message[]
  clearAll(): Message[]
  /** Starts whatever may start now. */
  pump(queue: EndpointQueue): void
  /** To be called when `mayStart` has become true again. */
  pumpAll(): void
  /** How many more messages of a webhook may be leased; none when its tier, other than the fastest, is full. */
  freeSlots(id: string): number
  /** The same for every known webhook. Where more webhooks are slow than their tier has capacity, they take turns. */
  freeSlotsOfAll(): Record<string, number>
  isFast(id: string): boolean
  isFull(): boolean
  waiting(): number
  inFlight(): number
}

export function newScheduler(hooks: Hooks, hostLimits: HostLimits = HOST_LIMITS): Scheduler {
  const tiers = TIERS.map((tier, index) => ({ ...tier, index, inFlight: 0, waitlist: new Set<EndpointQueue>() }))
  const state: SchedulerState = {
    hooks,
    queues: new Map(),
    tiers,
    fastest: tiers[0] as SpeedTier, // TIERS is not empty
    slow: new Map(),
    waiting: 0,
    waitingCharacters: 0,
    hosts: newHostGate(hostLimits, (queue) => pump(state, queue)),
  }
  return {
    queueOf: (id) => queueOf(state, id),
    put(queue, message) {
      queue.waiting.push(message)
      state.waiting += 1
      state.waitingCharacters += message.body.length
    },
    clear: (queue) => remove(state, queue, 0),
    clearAll: () => [...state.queues.values()].flatMap((queue) => remove(state, queue, 0)),
    pump: (queue) => pump(state, queue),
    pumpAll() {
      for (const tier of tiers) admit(state, tier)
    },
    freeSlots: (id) => freeSlots(state, id),
    freeSlotsOfAll: () => freeSlotsOfAll(state),
    isFast: (id) => tierOf(state, id) === state.fastest && queuesAtHost(state, state.queues.get(id)) === 0,
    waiting: () => state.waiting,
    isFull: () => state.waiting >= MAX_WAITING || state.waitingCharacters >= MAX_WAITING_CHARACTERS,
    inFlight: () => tiers.reduce((sum, { inFlight }) => sum + inFlight, 0),
  }
}

function queueOf({ queues }: SchedulerState, id: string): EndpointQueue {
  const found = queues.get(id)
  if (found) return found
  const endpoint = Promise.resolve(null)
  const loadedAt = Number.NEGATIVE_INFINITY
  const target = { endpoint, hostname: null, account: id, loadedAt }
  const queue = { id, waiting: [], inFlight: 0, isGood: false, refused: false, ...target }
  queues.set(id, queue)
  return queue
}

function remove(state: SchedulerState, queue: EndpointQueue, from: number, count = queue.waiting.length): Message[] {
  const removed = queue.waiting.splice(from, count)
  state.waiting -= removed.length
  for (const { body } of removed) state.waitingCharacters -= body.length
  return removed
}

// ---- turns ------------------------------------------------------------------------------------------------------------

function tierOf({ fastest, slow }: SchedulerState, id: string): SpeedTier {
  const found = slow.get(id)
  if (!found) return fastest
  if (found.until > performance.now()) return found.tier
  slow.delete(id)
  return fastest
}

function wantsToSend(state: SchedulerState, queue: EndpointQueue): boolean {
  const limit = queue.isGood ? tierOf(state, queue.id).perEndpoint : 1
  if (queue.waiting.length === 0 || queue.inFlight >= limit || queue.refused) return false
  const host = state.hooks.hostOf(queue)
  return host === null || state.hosts.hasRoom(host, queue)
}

function hasCapacity({ hooks }: SchedulerState, tier: SpeedTier): boolean {
  return tier.inFlight < tier.capacity && hooks.mayStart()
}

/** A queue that comes while others are in the waitlist finds the tier full, and stands behind them. */
function pump(state: SchedulerState, queue: EndpointQueue): void {
  while (wantsToSend(state, queue)) {
    const tier = tierOf(state, queue.id)
    if (!hasCapacity(state, tier)) return void tier.waitlist.add(queue)
    startNext(state, queue, tier)
  }
  const isOver = queue.waiting.length === 0 && queue.inFlight === 0 && !queue.refused
  if (isOver && state.queues.get(queue.id) === queue) state.queues.delete(queue.id)
}

/** Lets the queues of the waitlist in, one message each. */
function admit(state: SchedulerState, tier: SpeedTier): void {
  for (const queue of tier.waitlist) {
    if (!hasCapacity(state, tier)) return
    tier.waitlist.delete(queue)
    if (wantsToSend(state, queue) && tierOf(state, queue.id) === tier) startNext(state, queue, tier)
    if (wantsToSend(state, queue) && tierOf(state, queue.id) === tier) tier.waitlist.add(queue)
    else pump(state, queue)
  }
}

function startNext(state: SchedulerState, queue: EndpointQueue, tier: SpeedTier): void {
  const inTime = queue.waiting.findIndex((message) => !isStale(message))
  // The lease of a message that has waited too long may end while it is sent: it is given back instead.
  if (inTime !== 0) return state.hooks.release(remove(state, queue, 0, inTime === -1 ? undefined : inTime))
  const [message] = remove(state, queue, 0, 1) as [Message]
  void start(state, queue, message, tier)
}

async function start(state: SchedulerState, queue: EndpointQueue, message: Message, tier: SpeedTier): Promise<void> {
  const host = state.hooks.hostOf(queue)
  const request: Request = { queue, tier, began: performance.now() }
  queue.inFlight += 1
  const leaveHost = host === null ? null : state.hosts.enter(host, queue)
  enterTier(state, request, tier)
  await state.hooks.send(queue, message)
  clearTimeout(request.timer)
  queue.inFlight -= 1
  request.tier.inFlight -= 1
  leaveHost?.()
  const tookMs = performance.now() - request.began
  markSlow(state, queue, state.tiers.find(({ untilMs }) => tookMs < untilMs) as SpeedTier) // the last has no end
  admit(state, request.tier)
  pump(state, queue)
  if (queue.waiting.length === 0) state.hooks.onEmpty()
}

function enterTier(state: SchedulerState, request: Request, tier: SpeedTier): void {
  request.tier = tier
  tier.inFlight += 1
  const next = state.tiers[tier.index + 1]
  const leftMs = tier.untilMs - (performance.now() - request.began)
  if (next) request.timer = setTimeout(moveToTier, leftMs, state, request, next)
}

function moveToTier(state: SchedulerState, request: Request, next: SpeedTier): void {
  const before = request.tier
  before.inFlight -= 1
  enterTier(state, request, next)
  markSlow(state, request.queue, next)
  admit(state, before)
}

/** Unless it starts in a slower tier already, the webhook starts in this one, and keeps in memory what is allowed there. */
function markSlow(state: SchedulerState, queue: EndpointQueue, tier: SpeedTier): void {
  if (tier.index < Math.max(1, tierOf(state, queue.id).index)) return
  state.slow.set(queue.id, { tier, until: performance.now() + SLOW_FOR_MS })
  state.hooks.release(remove(state, queue, tier.prefetch))
}

function isStale(message: Message): boolean {
  return addMs(message.taken, START_WITHIN_MS) < now()
}

// ---- leasing ----------------------------------------------------------------------------------------------------------

function freeSlots(state: SchedulerState, id: string): number {
  const [tier, queue] = [tierOf(state, id), state.queues.get(id)]
  if (tier !== state.fastest && capacityLeft(tier) <= 0) return 0
  const host = queue ? state.hooks.hostOf(queue) : null
  if (queue && host !== null && state.hosts.isCrowded(host, queue)) return 0
  const mayHaveMany = queue?.isGood && state.waiting < MANY_WAITING && queuesAtHost(state, queue) === 0
  const prefetch = mayHaveMany ? tier.prefetch : Math.min(PREFETCH, tier.prefetch)
  return Math.max(0, prefetch - (queue?.waiting.length ?? 0))
}

/** How many queues wait for the host of this one. */
function queuesAtHost({ hooks, hosts }: SchedulerState, queue: EndpointQueue | undefined): number {
  const host = queue ? hooks.hostOf(queue) : null
  return host === null ? 0 : hosts.waiting(host)
}

function capacityLeft({ capacity, inFlight, waitlist }: SpeedTier): number {
  return capacity - inFlight - waitlist.size
}

function freeSlotsOfAll(state: SchedulerState): Record<string, number> {
  const slots: Record<string, number> = {}
  for (const id of state.queues.keys()) slots[id] = freeSlots(state, id)
  const left = state.tiers.map(capacityLeft)
  for (const [id, entry] of [...state.slow]) {
    const tier = tierOf(state, id)
    if (tier === state.fastest) continue
    const isLeft = (left[tier.index] as number) > 0 // one for each tier
    slots[id] = isLeft ? freeSlots(state, id) : 0
    if (slots[id] === 0) continue
    left[tier.index] = (left[tier.index] as number) - 1
    // To the end: the others come first the next time.
    state.slow.delete(id)
    state.slow.set(id, entry)
  }
  return slots
}
