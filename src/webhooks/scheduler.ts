// Which message is sent next. Each webhook has a queue of its own. Accounts take turns, and the queues of an account within its
// turns (limits/waitlist.ts), one message at a time. A request starts in the fastest tier; when it takes longer than that tier allows
// it moves to the next, and its webhook starts there for the next two minutes, or until it has answered fast. So however many
// webhooks are slow, the fast ones wait only for each other, and those that take a second do not wait for those that never
// answer (docs/decisions/webhooks.md: two tiers were tried).

import { addMs, MINUTE, now } from '../core/clock.ts'
import type { Endpoint } from './endpoints.ts'
import { HOST_LIMITS, type HostGate, type HostLimits, newHostGate } from './host-limits.ts'
import { type MessageMemory, newMessageMemory } from './message-memory.ts'
import { type Message, START_WITHIN_MS } from './outbox.ts'
import { enter, hasRoom, leave, newTiers, nextWithRoom, type Tier } from './tiers.ts'

/** Longer than 2,000 webhooks that never answer take for a turn each: they start in the fastest tier once only. */
const SLOW_FOR_MS = 2 * MINUTE
/** Of a webhook that has not answered well no more messages than this wait in memory. */
export const PREFETCH = 8
/** Once this many messages wait in memory, a webhook prefetches more than PREFETCH only while its account has fewer than this. */
const MANY_WAITING = 2_000
const FEW_OF_ACCOUNT = 100
/** Accounts of so many webhooks are remembered. */
const MAX_REMEMBERED = 50_000

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

type SpeedTier = Tier<EndpointQueue>

type Request = {
  queue: EndpointQueue
  /** Of the queue when the request began. */
  account: string
  tier: SpeedTier
  began: number
  timer?: NodeJS.Timeout
}

type SchedulerState = {
  hooks: Hooks
  queues: Map<string, EndpointQueue>
  tiers: SpeedTier[]
  fastest: SpeedTier
  /** The tiers in the order in which they may start requests the next time. */
  turns: SpeedTier[]
  /** Webhooks that start in another tier, and until when; the first is the next whose messages are leased. */
  slow: Map<string, { tier: SpeedTier; until: number }>
  memory: MessageMemory
  /** By webhook, also while it has no queue. */
  accounts: Map<string, string>
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
  /** Whom the webhook's messages count for; to be called before they are put in. */
  setAccount(queue: EndpointQueue, account: string): void
  put(queue: EndpointQueue, message: Message): void
  /** Removes and returns the waiting messages of one queue, or of all. */
  clear(queue: EndpointQueue): Message[]
  clearAll(): Message[]
  /** Starts whatever may start now. */
  pump(queue: EndpointQueue): void
  /** To be called when `mayStart` has become true again. Where that allows only a few requests, the tiers take turns. */
  pumpAll(): void
  /**
   * How many more messages of a webhook may be leased: none when its account has its share of the memory, or waits already for
   * a tier, other than the fastest, that is full.
   */
  freeSlots(id: string, account?: string): number
  /** The same for every known webhook. Where more webhooks are slow than their tier has capacity, they take turns. */
  freeSlotsOfAll(): Record<string, number>
  isFast(id: string): boolean
  /** The accounts of which as much waits in memory as one webhook may have there at least. */
  busyAccounts(): string[]
  /** Nothing more is leased. */
  isFull(): boolean
  /** Nothing more is leased but what was made just now. */
  isHalfFull(): boolean
  waiting(): number
  inFlight(): number
}

export function newScheduler(hooks: Hooks, hostLimits: HostLimits = HOST_LIMITS): Scheduler {
  const tiers = newTiers<EndpointQueue>()
  const state: SchedulerState = {
    hooks,
    queues: new Map(),
    tiers,
    fastest: tiers[0] as SpeedTier, // TIERS is not empty
    turns: [...tiers],
    slow: new Map(),
    memory: newMessageMemory(),
    accounts: new Map(),
    hosts: newHostGate(hostLimits, (queue) => pump(state, queue)),
  }
  return {
    queueOf: (id) => queueOf(state, id),
    setAccount: (queue, account) => setAccount(state, queue, account),
    put(queue, message) {
      queue.waiting.push(message)
      state.memory.add(queue.account, message)
    },
    clear: (queue) => remove(state, queue, 0),
    clearAll: () => [...state.queues.values()].flatMap((queue) => remove(state, queue, 0)),
    pump: (queue) => pump(state, queue),
    pumpAll() {
      for (const tier of state.turns) admit(state, tier)
      state.turns.push(...state.turns.splice(0, 1))
    },
    freeSlots: (id, account) => freeSlots(state, id, account),
    freeSlotsOfAll: () => freeSlotsOfAll(state),
    isFast: (id) => tierOf(state, id) === state.fastest && queuesAtHost(state, state.queues.get(id)) === 0,
    busyAccounts: () => state.memory.accountsWith(PREFETCH),
    waiting: state.memory.messages,
    isFull: state.memory.isFull,
    isHalfFull: state.memory.isHalfFull,
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
  state.memory.remove(queue.account, removed)
  return removed
}

function setAccount({ accounts, memory }: SchedulerState, queue: EndpointQueue, account: string): void {
  if (accounts.size >= MAX_REMEMBERED) accounts.clear()
  accounts.set(queue.id, account)
  if (queue.account === account) return
  memory.remove(queue.account, queue.waiting)
  queue.account = account
  for (const message of queue.waiting) memory.add(account, message)
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

function hasCapacity({ hooks }: SchedulerState, tier: SpeedTier, account: string): boolean {
  return hasRoom(tier, account) && hooks.mayStart()
}

/** A queue that comes while others are in the waitlist finds the tier full, and stands behind them. */
function pump(state: SchedulerState, queue: EndpointQueue): void {
  while (wantsToSend(state, queue)) {
    const tier = tierOf(state, queue.id)
    if (!hasCapacity(state, tier, queue.account)) return void tier.waitlist.add(queue)
    startNext(state, queue, tier)
  }
  const isOver = queue.waiting.length === 0 && queue.inFlight === 0 && !queue.refused
  if (isOver && state.queues.get(queue.id) === queue) state.queues.delete(queue.id)
}

/** Lets the queues of the waitlist in, one message each. */
function admit(state: SchedulerState, tier: SpeedTier): void {
  const { waitlist } = tier
  const next = () => (state.hooks.mayStart() ? nextWithRoom(tier) : undefined)
  for (let account = next(); account !== undefined; account = next()) {
    const queue = waitlist.take(account) as EndpointQueue // it waits
    if (wantsToSend(state, queue) && tierOf(state, queue.id) === tier) startNext(state, queue, tier)
    if (wantsToSend(state, queue) && tierOf(state, queue.id) === tier) waitlist.add(queue)
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
  const request: Request = { queue, account: queue.account, tier, began: performance.now() }
  queue.inFlight += 1
  const leaveHost = host === null ? null : state.hosts.enter(host, queue)
  enterTier(state, request, tier)
  await state.hooks.send(queue, message)
  clearTimeout(request.timer)
  queue.inFlight -= 1
  leave(request.tier, request.account)
  leaveHost?.()
  const tookMs = performance.now() - request.began
  markSlow(state, queue, state.tiers.find(({ untilMs }) => tookMs < untilMs) as SpeedTier) // the last has no end
  admit(state, request.tier)
  pump(state, queue)
  if (queue.waiting.length === 0) state.hooks.onEmpty()
}

function enterTier(state: SchedulerState, request: Request, tier: SpeedTier): void {
  request.tier = tier
  enter(tier, request.account)
  const next = state.tiers[tier.index + 1]
  const leftMs = tier.untilMs - (performance.now() - request.began)
  if (next) request.timer = setTimeout(moveToTier, leftMs, state, request, next)
}

function moveToTier(state: SchedulerState, request: Request, next: SpeedTier): void {
  const before = request.tier
  leave(before, request.account)
  enterTier(state, request, next)
  markSlow(state, request.queue, next)
  admit(state, before)
}

/** Unless it starts in a slower tier already, the webhook starts in this one, and keeps in memory what is allowed there. */
function markSlow(state: SchedulerState, queue: EndpointQueue, tier: SpeedTier): void {
  if (tier === state.fastest) state.slow.delete(queue.id)
  if (tier.index < Math.max(1, tierOf(state, queue.id).index)) return
  state.slow.set(queue.id, { tier, until: performance.now() + SLOW_FOR_MS })
  state.hooks.release(remove(state, queue, tier.prefetch))
}

function isStale(message: Message): boolean {
  return addMs(message.taken, START_WITHIN_MS) < now()
}

// ---- leasing ----------------------------------------------------------------------------------------------------------

function freeSlots(state: SchedulerState, id: string, account = accountOf(state, id)): number {
  const [tier, queue] = [tierOf(state, id), state.queues.get(id)]
  if (!state.memory.hasRoom(account)) return 0
  if (tier !== state.fastest && capacityLeft(tier) <= 0 && tier.waitlist.sizeOf(account) > 0) return 0
  const host = queue ? state.hooks.hostOf(queue) : null
  if (queue && host !== null && state.hosts.isCrowded(host, queue)) return 0
  const mayHaveMany = queue?.isGood && queuesAtHost(state, queue) === 0
  const most = mayHaveMany ? roomForMany(state, account) : PREFETCH
  return Math.max(0, Math.min(most, tier.prefetch) - (queue?.waiting.length ?? 0))
}

function roomForMany({ memory }: SchedulerState, account: string): number {
  if (memory.messages() < MANY_WAITING) return Number.POSITIVE_INFINITY
  return Math.max(PREFETCH, FEW_OF_ACCOUNT - memory.messagesOf(account))
}

function accountOf({ accounts }: SchedulerState, id: string): string {
  return accounts.get(id) ?? id
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
  for (const [id, account] of state.accounts) if (!state.memory.hasRoom(account)) slots[id] = 0
  for (const id of state.queues.keys()) slots[id] = freeSlots(state, id)
  const left = state.tiers.map(capacityLeft)
  const given = new Set<string>()
  for (const [id, entry] of [...state.slow]) {
    const tier = tierOf(state, id)
    if (tier === state.fastest) continue
    const account = accountOf(state, id)
    const isLeft = (left[tier.index] as number) > 0 || !given.has(account) // there is one for each tier
    slots[id] = isLeft ? freeSlots(state, id) : 0
    if (slots[id] === 0) continue
    given.add(account)
    left[tier.index] = (left[tier.index] as number) - 1
    // To the end: the others come first the next time.
    state.slow.delete(id)
    state.slow.set(id, entry)
  }
  return slots
}
