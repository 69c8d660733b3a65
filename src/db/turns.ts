// Changes of a store wait for its lock, each with a connection of its own, and there are few of these. So whoever shares a
// lock, such as the requests that change one store, has one connection, or a few at a time. The others wait here, for as long
// as they would have waited for the lock.
//
// A line is fair, so that nobody keeps others out of it: people come before keys, of which whoever has a leaked one may make
// many, and both before those who erase themselves, who may be strangers to the store; among each, callers take turns. However
// busy a store is, those who erase themselves have places of their own and every fourth turn: nobody can put off being erased.

import { Failure } from '../core/errors.ts'

/** One that works, and others that are ready to as soon as the lock is free. */
export const MAX_RUNNING = 3
/**
 * Beyond the first of each. Of all holders together, so that many of them, each with a lock that is held, leave connections;
 * after each piece of work they go to another one that waits.
 */
const MAX_EXTRA = MAX_RUNNING - 1
/** For one holder: people and keys, and besides those who leave. */
const MAX_STAYING = 50
const MAX_LEAVING = 10
/** So many turns of others in a row, and then somebody who leaves has one. */
const MAX_PASSED_OVER = 3
/**
 * For all holders together: from the first number on, only for callers with few, since each is a request in flight. Beyond
 * that, the line with most makes room.
 */
const MANY_WAITING = 120
const MAX_ALL_WAITING = 240
const FEW_OF_CALLER = 3
/** Of one caller, for all holders together. */
const MAX_OF_CALLER = 60
const WAIT_MS = 2_000

/** The holder is what the lock is shared by, such as a store. `isLeaving`: the caller erases themselves. */
export type Turn = { holder: string; caller: { kind: string; id: string }; isLeaving?: boolean }

/** Runs the work when it is the caller's turn. */
export type Turns = <T>(turn: Turn, work: () => Promise<T>) => Promise<T>

type Waiting = { begin(): void; refuse(): void }

/** What each caller waits with, oldest first. The first caller is the next. */
type Queue = Map<string, Waiting[]>

/** Those who share the places of a line, the most important first. */
type Group = { queues: Queue[]; max: number }

/**
 * `staying`: people, then keys. The operator and the service itself are people here. `passedOver`: how many turns others have
 * had while somebody who leaves waited.
 */
type Line = { running: number; staying: Group; leaving: Group; passedOver: number }

function newLine(): Line {
  return {
    running: 0,
    staying: { queues: [new Map(), new Map()], max: MAX_STAYING },
    leaving: { queues: [new Map()], max: MAX_LEAVING },
    passedOver: 0,
  }
}

function placeOf({ staying, leaving }: Line, { caller, isLeaving }: Turn): { group: Group; rank: number } {
  return isLeaving ? { group: leaving, rank: 0 } : { group: staying, rank: caller.kind === 'key' ? 1 : 0 }
}

export function newTurns(waitMs = WAIT_MS): Turns {
  /** Of those who have any running. */
  const lines = new Map<string, Line>()
  let extra = 0
  let allWaiting = 0
  const waitingOf = new Map<string, number>()

  async function enter(turn: Turn): Promise<Line> {
    const { holder } = turn
    const line = lines.get(holder) ?? newLine()
    lines.set(holder, line)
    if (line.running === 0) line.running = 1
    else if (extra < MAX_EXTRA) takeExtra(line)
    else await waitIn(line, turn)
    return line
  }

  function takeExtra(line: Line): void {
    line.running += 1
    extra += 1
  }

  function waitIn(line: Line, turn: Turn): Promise<void> {
    const { group, rank } = placeOf(line, turn)
    const queue = group.queues[rank] as Queue
    const name = `${turn.caller.kind} ${turn.caller.id}`
    const own = waitingOf.get(name) ?? 0
    if (own >= MAX_OF_CALLER) throw tooLong()
    const isCrowded = allWaiting >= (own < FEW_OF_CALLER ? MAX_ALL_WAITING : MANY_WAITING)
    const largest = isCrowded ? largestGroup(lines.values()) : group
    if (sizeOf(group) >= group.max) makeRoom(group, rank, name)
    else if (sizeOf(largest) >= sizeOf(group) + 2) newestOfMost(largest)?.refuse()
    else if (isCrowded) makeRoom(group, rank, name)
    count(name, 1)
    return waitFor(queue, name, waitMs, () => count(name, -1))
  }

  function count(name: string, more: number): void {
    allWaiting += more
    const own = (waitingOf.get(name) ?? 0) + more
    if (own > 0) waitingOf.set(name, own)
    else waitingOf.delete(name)
  }

  /** The next one takes the place. An extra place goes to another line that waits and has fewer, or that alone waits. */
  function leave(holder: string, line: Line): void {
    if (line.running > 1 && passOn(line)) line.running -= 1
    else if (!beginNext(line)) {
      line.running -= 1
      if (line.running === 0) lines.delete(holder)
      else extra -= 1
    }
  }

  function passOn(line: Line): boolean {
    for (const [holder, other] of lines) {
      if (other === line || (isWaiting(line) && other.running >= line.running) || !beginNext(other)) continue
      other.running += 1
      // The other line is last now.
      lines.delete(holder)
      lines.set(holder, other)
      return true
    }
    return false
  }

  return async (turn, work) => {
    const line = await enter(turn)
    try {
      return await work()
    } finally {
      leave(turn.holder, line)
    }
  }
}

/** Waits for the caller's turn; fails when they are refused, or have waited for too long. */
function waitFor(queue: Queue, name: string, waitMs: number, onEnd: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const leaveQueue = () => {
      clearTimeout(timeout)
      remove(queue, name, waiting)
      onEnd()
    }
    const waiting: Waiting = {
      begin: () => {
        leaveQueue()
        resolve()
      },
      refuse: () => {
        leaveQueue()
        reject(tooLong())
      },
    }
    const timeout = setTimeout(waiting.refuse, waitMs)
    queue.set(name, [...(queue.get(name) ?? []), waiting])
  })
}

function beginNext(line: Line): boolean {
  const [staying, leaving] = [sizeOf(line.staying), sizeOf(line.leaving)]
  const leavesNext = leaving > 0 && (staying === 0 || line.passedOver === MAX_PASSED_OVER)
  line.passedOver = leavesNext || leaving === 0 ? 0 : line.passedOver + 1
  return beginNextOf(leavesNext ? line.leaving : line.staying)
}

function beginNextOf({ queues }: Group): boolean {
  const queue = queues.find(({ size }) => size > 0)
  for (const [name, [oldest, ...others]] of queue ?? []) {
    oldest?.begin()
    // The caller is last now.
    queue?.delete(name)
    if (others.length > 0) queue?.set(name, others)
    return true
  }
  return false
}

function sizeOf({ queues }: Group): number {
  return queues.flatMap((queue) => [...queue.values()].flat()).length
}

const isWaiting = ({ staying, leaving }: Line) => sizeOf(staying) + sizeOf(leaving) > 0

/** Of all lines: when all places are taken, whoever fills a line gives way to those who wait in a shorter one. */
function largestGroup(lines: Iterable<Line>): Group {
  const groups = [...lines].flatMap(({ staying, leaving }) => [staying, leaving])
  return groups.reduce((largest, group) => (sizeOf(group) > sizeOf(largest) ? group : largest))
}

/**
 * The newest request of whoever has most is refused, among the least important. If these are as important as the one that
 * comes, and none of them has at least two more, that one is.
 */
function makeRoom(group: Group, rank: number, name: string): void {
  const { queues } = group
  const least = leastImportant(group)
  const most = mostOf(queues[least])
  const ownCount = queues[rank]?.get(name)?.length ?? 0
  if (least < rank || (least === rank && most.length < ownCount + 2)) throw tooLong()
  most.at(-1)?.refuse()
}

function newestOfMost(group: Group): Waiting | undefined {
  return mostOf(group.queues[leastImportant(group)]).at(-1)
}

function leastImportant({ queues }: Group): number {
  return queues.findLastIndex(({ size }) => size > 0)
}

function mostOf(queue?: Queue): Waiting[] {
  let most: Waiting[] = []
  for (const own of queue?.values() ?? []) if (own.length >= most.length) most = own
  return most
}

function remove(queue: Queue, name: string, waiting: Waiting): void {
  const others = queue.get(name)?.filter((one) => one !== waiting) ?? []
  // The caller keeps the place among the others.
  if (others.length > 0) queue.set(name, others)
  else queue.delete(name)
}

const tooLong = () => new Failure('unavailable', { retryAfterSeconds: 1 })
