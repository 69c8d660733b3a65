// Who is sent the next message. Each webhook has a lane of its own, and lanes take turns. A request begins in the room of
// the quick ones; when it takes longer than a request there may it moves on to the next room, and its lane begins there
// for the next half minute. So however many are slow, the quick ones wait for each other only.

import { addMs, now, SECOND } from '../core/clock.ts'
import { BEGIN_MS, type Endpoint, type Message } from './queue.ts'

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
export const FEW = 8
const MANY = 2_000

export type FastPath = {
  id: string
  waiting: Message[]
  busy: number
  /** It answered well the last time. */
  isGood: boolean
  /** It has just said that it wants no more. */
  refused: boolean
  /** Null when it is gone, or off. */
  endpoint: Promise<Endpoint | null>
  metAt: number
}

/** Whoever found no place stands in line, and is let in for one message at a time. */
type Room = (typeof ROOMS)[number] & { nth: number; busy: number; line: Set<FastPath> }

export type Lanes = {
  /** The lane of a webhook, made if there is none. */
  of(id: string): FastPath
  put(fastPath: FastPath, message: Message): void
  /** Whatever waits in it, which it then does no longer. */
  clear(fastPath: FastPath): Message[]
  /** Begins what may run now. */
  advance(fastPath: FastPath): void
  /** To be called when it may be begun again. */
  advanceAll(): void
  /** How many more may be taken up of a webhook; of a slow one only what can be begun. */
  roomFor(id: string): number
  /** The same for each webhook we know. Where there are more slow ones than places, they take turns. */
  shareOut(): Record<string, number>
  isQuick(id: string): boolean
  /** How many wait, in all lanes. */
  waiting(): number
  underWay(): number
  clearAll(): Message[]
}

type Ways = {
  /** Ends with the request, and never fails. */
  send(fastPath: FastPath, message: Message): Promise<void>
  /** What stays here no longer. */
  letGo(messages: Message[]): void
  mayBegin(): boolean
  /** A lane has nothing left. */
  emptied(): void
}

export function newLanes({ send, letGo, mayBegin, emptied }: Ways): Lanes {
  const lanes = new Map<string, FastPath>()
  const rooms: Room[] = ROOMS.map((room, nth) => ({ ...room, nth, busy: 0, line: new Set() }))
  const [quick] = rooms as [Room]
  /** Who begins in another room than the quick ones'. */
  const slow = new Map<string, { room: Room; until: number }>()
  let waiting = 0

  function remove(fastPath: FastPath, from: number, count = fastPath.waiting.length): Message[] {
    const gone = fastPath.waiting.splice(from, count)
    waiting -= gone.length
    return gone
  }

  // ---- turns --------------------------------------------------------------------------------------------------------

  function roomOf(id: string): Room {
    const found = slow.get(id)
    if (!found) return quick
    if (found.until > performance.now()) return found.room
    slow.delete(id)
    return quick
  }

  function wants(fastPath: FastPath): boolean {
    const abreast = fastPath.isGood ? roomOf(fastPath.id).abreast : 1
    return fastPath.waiting.length > 0 && fastPath.busy < abreast && !fastPath.refused
  }

  function isPlace(room: Room): boolean {
    return room.busy < room.places && mayBegin()
  }

  /** Whoever comes while others stand in line finds the room full, and stands behind them. */
  function advance(fastPath: FastPath): void {
    while (wants(fastPath)) {
      const room = roomOf(fastPath.id)
      if (!isPlace(room)) return void room.line.add(fastPath)
      beginNext(fastPath, room)
    }
    const isOver = fastPath.waiting.length === 0 && fastPath.busy === 0 && !fastPath.refused
    if (isOver && lanes.get(fastPath.id) === fastPath) lanes.delete(fastPath.id)
  }

  function admit(room: Room): void {
    for (const fastPath of room.line) {
      if (!isPlace(room)) return
      room.line.delete(fastPath)
      if (wants(fastPath) && roomOf(fastPath.id) === room) beginNext(fastPath, room)
      if (wants(fastPath) && roomOf(fastPath.id) === room) room.line.add(fastPath)
      else advance(fastPath)
    }
  }

  function beginNext(fastPath: FastPath, room: Room): void {
    const inTime = fastPath.waiting.findIndex((message) => !isLate(message))
    // By now they may be another's.
    if (inTime !== 0) return letGo(remove(fastPath, 0, inTime === -1 ? undefined : inTime))
    const [message] = remove(fastPath, 0, 1) as [Message]
    begin(fastPath, message, room)
  }

  async function begin(fastPath: FastPath, message: Message, room: Room): Promise<void> {
    fastPath.busy += 1
    const leave = takePlace(fastPath, room)
    await send(fastPath, message)
    fastPath.busy -= 1
    admit(leave())
    advance(fastPath)
    if (fastPath.waiting.length === 0) emptied()
  }

  // ---- rooms --------------------------------------------------------------------------------------------------------

  /** For a request, which moves from room to room as time goes by. Gives back what ends it, and tells where it was. */
  function takePlace(fastPath: FastPath, first: Room): () => Room {
    const began = performance.now()
    let room = first
    let timer: NodeJS.Timeout | undefined
    const enter = () => {
      room.busy += 1
      const next = rooms[room.nth + 1]
      if (next) timer = setTimeout(moveOn, room.upToMs - (performance.now() - began), next)
    }
    const moveOn = (next: Room) => {
      const left = room
      left.busy -= 1
      room = next
      enter()
      markSlow(fastPath, room)
      admit(left)
    }
    enter()
    return () => {
      clearTimeout(timer)
      room.busy -= 1
      const took = performance.now() - began
      markSlow(fastPath, rooms.find(({ upToMs }) => took < upToMs) as Room)
      return room
    }
  }

  /** It begins there from now on, and keeps at hand what that room allows. */
  function markSlow(fastPath: FastPath, room: Room): void {
    if (room.nth < Math.max(1, roomOf(fastPath.id).nth)) return
    slow.set(fastPath.id, { room, until: performance.now() + SLOW_FOR_MS })
    letGo(remove(fastPath, room.atHand))
  }

  function roomFor(id: string): number {
    const [room, fastPath] = [roomOf(id), lanes.get(id)]
    if (room !== quick && room.busy + room.line.size >= room.places) return 0
    const atHand = fastPath?.isGood && waiting < MANY ? room.atHand : Math.min(FEW, room.atHand)
    return Math.max(0, atHand - (fastPath?.waiting.length ?? 0))
  }

  return {
    of(id) {
      const fastPath = lanes.get(id) ?? newLane(id)
      lanes.set(id, fastPath)
      return fastPath
    },
    put(fastPath, message) {
      fastPath.waiting.push(message)
      waiting += 1
    },
    clear: (fastPath) => remove(fastPath, 0),
    advance,
    advanceAll() {
      for (const room of rooms) admit(room)
    },
    roomFor,
    shareOut() {
      const left = rooms.map(({ places, busy, line }) => places - busy - line.size)
      const share: Record<string, number> = {}
      for (const id of lanes.keys()) if (roomOf(id) === quick) share[id] = roomFor(id)
      for (const [id, is] of [...slow]) {
        const { nth } = roomOf(id)
        share[id] = nth === 0 || (left[nth] as number) > 0 ? roomFor(id) : 0
        if (share[id] === 0 || nth === 0) continue
        left[nth] = (left[nth] as number) - 1
        slow.delete(id)
        slow.set(id, is)
      }
      return share
    },
    isQuick: (id) => roomOf(id) === quick,
    waiting: () => waiting,
    underWay: () => rooms.reduce((sum, { busy }) => sum + busy, 0),
    clearAll: () => [...lanes.values()].flatMap((fastPath) => remove(fastPath, 0)),
  }
}

function newLane(id: string): FastPath {
  const endpoint = Promise.resolve(null)
  return { id, waiting: [], busy: 0, isGood: false, refused: false, endpoint, metAt: Number.NEGATIVE_INFINITY }
}

function isLate(message: Message): boolean {
  return addMs(message.taken, BEGIN_MS) < now()
}
