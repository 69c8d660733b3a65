// Hands out what happened. The outbox was written with the change itself (by a trigger: see the migration), so what is in
// it was committed, and nothing that was committed is missing from it. Each round
//
//   1. takes up deliveries that are due, a few for each webhook, and
//   2. turns a stretch of the outbox into deliveries, in one transaction; those that can be sent at once are ours already.
//
// Whoever takes a delivery moves `next_attempt_at` ahead: if this node dies, another finds it due again. That makes "at
// least once", and the event's id as `webhook-id` lets the receiver see a repetition.
//
// Each webhook has a lane of its own, and lanes take turns. A request begins in the room of the quick ones; when it takes
// longer than a request there may it moves on to the next room, and its lane begins there for the next half minute. So
// however many are slow, the quick ones wait for each other only.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Failed } from '../background.ts'
import { later, now, SECOND } from '../clock.ts'
import type { Batch } from '../db/batch.ts'
import type { Db } from '../db/db.ts'
import type { Here } from '../here.ts'
import type { Outlet, Reply, Trouble } from './outlet.ts'
import { newPace } from './pace.ts'
import {
  BEGIN_MS,
  type Endpoint,
  fanOut,
  letGo,
  loadEndpoints,
  type Message,
  type Outcome,
  settle,
  takeDue,
} from './queue.ts'
import { FAILING_MS, nextTry } from './schedule.ts'
import { signedHeaders } from './signature.ts'
import { disableWebhook } from './webhooks.ts'

export type Dispatcher = {
  /** Something may be there to send. */
  wake(): void
  /** Takes up nothing more, gives what is under way so long, and lets go of the rest. */
  close(patienceMs: number): Promise<void>
}

/**
 * How long a request counts in a room, how many of them there may be, how many of one webhook that answers well (of any
 * other, one), and how many more of its messages wait at hand. Waiting for an answer costs a connection and little more.
 */
const ROOMS = [
  { upToMs: 250, places: 200, abreast: 4, atHand: 200 },
  { upToMs: 2_000, places: 500, abreast: 4, atHand: 8 },
  { upToMs: Number.POSITIVE_INFINITY, places: 500, abreast: 1, atHand: 1 },
] as const
const SLOW_FOR_MS = 30 * SECOND
/** Of a webhook that has not answered well yet no more than this waits at hand, nor of any once so many wait in all. */
const FEW = 8
const MANY = 2_000
/** Then nothing more is taken up at all. */
const MOST_WAITING = 10_000
const MOST_TAKEN = 2_000
/** So many answers may be waiting to be written down before nothing new is begun. */
const MOST_UNWRITTEN = 1_000
/** What is known of a webhook is asked anew after so long: whatever was changed or taken away counts within a moment. */
const FRESH_MS = 200
/** Without a word from anyone we look this often; with no room for more, this often; and never more often than that. */
const IDLE_MS = SECOND
const FULL_MS = 100
const ROUND_MS = 20
/** A look that finds nothing is followed by so many times as long without one. */
const REST_FACTOR = 10
/** What turning an event into a delivery costs, when sending one is 1. */
const FAN_OUT_COST = 0.25

type Lane = {
  id: string
  waiting: Message[]
  busy: number
  /** Its last answer was. */
  isGood: boolean
  /** It has just said that it wants no more. */
  refused: boolean
  /** Null when it is gone, or off. */
  endpoint: Promise<Endpoint | null>
  metAt: number
}

/** Whoever found no place stands in line, and is let in for one message at a time. */
type Room = (typeof ROOMS)[number] & { nth: number; busy: number; line: Set<Lane> }

export function newDispatcher(
  db: Db,
  here: Here,
  outlet: Outlet,
  answered: () => number,
  told: (outcome: string) => void,
  failed: Failed,
): Dispatcher {
  const lanes = new Map<string, Lane>()
  const rooms: Room[] = ROOMS.map((room, nth) => ({ ...room, nth, busy: 0, line: new Set() }))
  const [quick] = rooms as [Room]
  /** Who begins in another room than the quick ones'. */
  const slow = new Map<string, { room: Room; until: number }>()
  const closing = new AbortController()
  const brokenOff: Message[] = []
  let unwritten = 0
  let isCrowded = false
  let takenUpTo = ''
  let lookAgainAt = 0
  let woken = false
  let resume = () => {}
  const wake = () => {
    woken = true
    resume()
  }
  const admitAll = () => {
    for (const room of rooms) admit(room)
  }
  const pace = newPace(answered, admitAll)
  const meetMany: Batch<string, Endpoint | null> = async (db, ids) => {
    const found = await loadEndpoints(db, here, ids)
    return ids.map((id) => found.get(id) ?? null)
  }

  // ---- rounds -------------------------------------------------------------------------------------------------------

  async function keepGoing(): Promise<void> {
    while (!closing.signal.aborted) {
      const waiting = countWaiting()
      isCrowded = waiting >= MANY
      const mayTake = pace.left() && waiting < MOST_WAITING
      const rests = untilLook() > 0
      const found = mayTake ? await roundSurely() : 0
      if (found === 0) await sleep(ROUND_MS, undefined, closing).catch(() => {})
      await pause(found > 0 ? ROUND_MS : !mayTake ? FULL_MS : rests ? untilLook() : IDLE_MS)
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
    const fresh = await fanOut(db, (id, already) => already < roomInLane(id))
    pace.spend(fresh.made * FAN_OUT_COST)
    await enqueue(fresh.taken)
    if (fresh.taken.length < fresh.made) lookAgainAt = 0
    return due + fresh.made
  }

  function untilLook(): number {
    return Math.max(0, lookAgainAt - performance.now())
  }

  /** Passes by every webhook that has something pending. So when nothing was due, it is not done again at once. */
  async function look(): Promise<number> {
    const began = performance.now()
    const due = await takeDue(db, { roomFor: shareOut(), otherwise: FEW, after: takenUpTo, most: MOST_TAKEN })
    lookAgainAt = due.length > 0 ? 0 : began + (performance.now() - began) * REST_FACTOR
    await enqueue(due)
    // Where one look ends the next goes on, so that nobody is left out because of their name.
    const before = takenUpTo
    takenUpTo = due.length < MOST_TAKEN ? '' : due.map(({ webhook_id }) => webhook_id).reduce(laterOf, '')
    if (before > takenUpTo) {
      lookAgainAt = 0
      wake()
    }
    return due.length
  }

  /** How many may be taken up of each webhook we know. Where there are more slow ones than places, they take turns. */
  function shareOut(): Record<string, number> {
    const left = rooms.map(({ places, busy, line }) => places - busy - line.size)
    const share: Record<string, number> = {}
    for (const id of lanes.keys()) if (roomOf(id) === quick) share[id] = roomInLane(id)
    for (const [id, is] of [...slow]) {
      const { nth } = roomOf(id)
      share[id] = nth === 0 || (left[nth] as number) > 0 ? roomInLane(id) : 0
      if (share[id] === 0 || nth === 0) continue
      left[nth] = (left[nth] as number) - 1
      slow.delete(id)
      slow.set(id, is)
    }
    return share
  }

  /** How many more may be taken up of a webhook; of a slow one only what can be begun. */
  function roomInLane(id: string): number {
    const [room, lane] = [roomOf(id), lanes.get(id)]
    if (room !== quick && room.busy + room.line.size >= room.places) return 0
    const atHand = lane?.isGood && !isCrowded ? room.atHand : Math.min(FEW, room.atHand)
    return Math.max(0, atHand - (lane?.waiting.length ?? 0))
  }

  function countWaiting(): number {
    let sum = 0
    for (const lane of lanes.values()) sum += lane.waiting.length
    return sum
  }

  async function enqueue(messages: Message[]): Promise<void> {
    if (messages.length === 0) return
    const endpoints = await loadEndpoints(db, here, [...new Set(messages.map((message) => message.webhook_id))])
    for (const message of messages) {
      const endpoint = endpoints.get(message.webhook_id)
      if (!endpoint) continue
      const lane = lanes.get(message.webhook_id) ?? newLane(message.webhook_id)
      lanes.set(lane.id, lane)
      meet(lane, Promise.resolve(endpoint))
      lane.waiting.push(message)
    }
    for (const id of endpoints.keys()) advance(lanes.get(id))
    await letGo(
      db,
      messages.filter((message) => !endpoints.has(message.webhook_id)),
    )
  }

  // ---- turns --------------------------------------------------------------------------------------------------------

  function roomOf(id: string): Room {
    const found = slow.get(id)
    if (!found) return quick
    if (found.until > performance.now()) return found.room
    slow.delete(id)
    return quick
  }

  function wants(lane: Lane): boolean {
    const abreast = lane.isGood ? roomOf(lane.id).abreast : 1
    return lane.waiting.length > 0 && lane.busy < abreast && !lane.refused
  }

  function isPlace(room: Room): boolean {
    return room.busy < room.places && unwritten < MOST_UNWRITTEN && pace.left() && !closing.signal.aborted
  }

  /** Begins what may run now. Whoever comes while others stand in line finds the room full, and stands behind them. */
  function advance(lane: Lane | undefined): void {
    if (!lane) return
    while (wants(lane)) {
      const room = roomOf(lane.id)
      if (!isPlace(room)) return void room.line.add(lane)
      beginNext(lane, room)
    }
    const isOver = lane.waiting.length === 0 && lane.busy === 0
    if (isOver && lanes.get(lane.id) === lane) lanes.delete(lane.id)
  }

  function admit(room: Room): void {
    for (const lane of room.line) {
      if (!isPlace(room)) return
      room.line.delete(lane)
      if (wants(lane) && roomOf(lane.id) === room) beginNext(lane, room)
      if (wants(lane) && roomOf(lane.id) === room) room.line.add(lane)
      else advance(lane)
    }
  }

  function beginNext(lane: Lane, room: Room): void {
    const [message] = lane.waiting.splice(0, 1) as [Message]
    if (isLate(message)) dropLate(lane, message)
    else begin(lane, message, room)
  }

  /** Whoever comes next may have them: by now they may be another's. */
  function dropLate(lane: Lane, first: Message): void {
    const inTime = lane.waiting.findIndex((message) => !isLate(message))
    letGo(db, [first, ...lane.waiting.splice(0, inTime === -1 ? lane.waiting.length : inTime)])
  }

  function begin(lane: Lane, message: Message, room: Room): void {
    pace.spend(1)
    lane.busy += 1
    const place = takePlace(lane, room)
    // The next message does not wait until the answer to this one is written down.
    send(lane, message).then((sent) => {
      lane.busy -= 1
      if (sent) note(lane, message, sent.endpoint, sent.outcome)
      admit(place.leave())
      advance(lane)
      if (lane.waiting.length === 0) wake()
    })
  }

  /** For a request, which moves from room to room as time goes by. */
  function takePlace(lane: Lane, first: Room): { leave(): Room } {
    const began = performance.now()
    let room = first
    let timer: NodeJS.Timeout | undefined
    const settleIn = () => {
      room.busy += 1
      const next = rooms[room.nth + 1]
      if (next) timer = setTimeout(moveOn, room.upToMs - (performance.now() - began), next)
    }
    const moveOn = (next: Room) => {
      const left = room
      left.busy -= 1
      room = next
      settleIn()
      markSlow(lane, room)
      admit(left)
    }
    settleIn()
    return {
      leave() {
        clearTimeout(timer)
        room.busy -= 1
        const took = performance.now() - began
        markSlow(lane, rooms.find(({ upToMs }) => took < upToMs) as Room)
        return room
      },
    }
  }

  /** It begins there from now on, and keeps at hand what that room allows; the rest waits in the table. */
  function markSlow(lane: Lane, room: Room): void {
    if (room.nth < Math.max(1, roomOf(lane.id).nth)) return
    slow.set(lane.id, { room, until: performance.now() + SLOW_FOR_MS })
    letGo(db, lane.waiting.splice(room.atHand))
  }

  // ---- sending ------------------------------------------------------------------------------------------------------

  function meet(lane: Lane, endpoint: Lane['endpoint']): void {
    lane.endpoint = endpoint
    lane.metAt = performance.now()
  }

  function endpointOf(lane: Lane): Promise<Endpoint | null> {
    if (performance.now() - lane.metAt > FRESH_MS)
      meet(
        lane,
        db.batched(meetMany, lane.id).catch(() => null),
      )
    return lane.endpoint
  }

  /** It waits until the webhook is on again. */
  async function giveBack(lane: Lane, ...messages: Message[]): Promise<void> {
    await letGo(db, [...messages, ...lane.waiting.splice(0)])
  }

  async function send(lane: Lane, message: Message): Promise<{ endpoint: Endpoint; outcome: Outcome } | null> {
    const endpoint = await endpointOf(lane)
    if (!endpoint || lane.refused) {
      await giveBack(lane, message)
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
    lane.isGood = outcome.status === 'DELIVERED'
    if (outcome.response_status === 410) lane.refused = true
    told(outcome.status === 'DELIVERED' ? 'delivered' : outcome.status === 'FAILED' ? 'given_up' : 'failed')
    return { endpoint, outcome }
  }

  async function note(lane: Lane, message: Message, endpoint: Endpoint, outcome: Outcome): Promise<void> {
    unwritten += 1
    await settleSurely(outcome)
    const reason = reasonToDisable(endpoint, outcome)
    if (reason) {
      await disableWebhook(db, message.webhook_id, reason).catch(() => {})
      await giveBack(lane)
      lane.refused = false
      advance(lane)
    }
    unwritten -= 1
    if (unwritten === MOST_UNWRITTEN - 1) admitAll()
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

  const underWay = () => rooms.reduce((sum, { busy }) => sum + busy, 0)
  const going = keepGoing()
  return {
    wake,
    async close(patienceMs) {
      closing.abort()
      resume()
      pace.close()
      await going
      const end = performance.now() + patienceMs
      while (underWay() > 0 && performance.now() < end) await sleep(20)
      await outlet.close()
      while (underWay() + unwritten > 0) await sleep(5)
      const left = [...lanes.values()].flatMap((lane) => lane.waiting)
      await letGo(db, [...left, ...brokenOff])
    },
  }
}

function newLane(id: string): Lane {
  const endpoint = Promise.resolve(null)
  return { id, waiting: [], busy: 0, isGood: false, refused: false, endpoint, metAt: Number.NEGATIVE_INFINITY }
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other
}

function isLate(message: Message): boolean {
  return later(BEGIN_MS, message.taken) < now()
}

function judge(message: Message, at: Date, durationMs: number, result: Reply | { trouble: Trouble }): Outcome {
  const { webhook_id, id, cause } = message
  const attempts = message.attempts + 1
  const reply = 'trouble' in result ? null : result
  const delivered = reply !== null && reply.status >= 200 && reply.status < 300
  const over = delivered || cause === 'TEST' || reply?.status === 410
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
  const failing = outcome.status !== 'DELIVERED' && failingSince !== null && failingSince <= later(-FAILING_MS)
  return failing ? 'FAILING' : null
}
