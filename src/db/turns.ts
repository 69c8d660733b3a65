// Changes of a store wait for its lock, each with a connection of its own, and there are few of these. So whoever shares a
// lock, such as the requests that change one store, has one connection, or a few at a time. The others wait here, for as long
// as they would have waited for the lock.
//
// A line is fair, so that nobody keeps others out of it. First come those who manage the store: people before keys, of which
// the holder of a leaked one may make many. Then those who erase themselves, and last those who visit, who may be strangers
// with any number of accounts: they leave, accept an invitation, or join. Among each, callers take turns. However busy a store
// is, those who erase themselves have places of their own and every fourth turn: nobody can put off being erased. Visitors have
// places of their own and every eighth turn, and otherwise only work when nobody else in the line does. So nobody who manages
// the store finds its lock held by more than one of them.

import { Failure } from '../core/errors.ts'

/** One that works, and others that are ready to as soon as the lock is free. */
export const MAX_RUNNING = 3
/**
 * Beyond the first of each. Of all holders together, so that many of them, each with a lock that is held, leave connections;
 * after each piece of work they go to another one that waits.
 */
const MAX_EXTRA = MAX_RUNNING - 1
/**
 * For one holder: how many of each wait at most, and how many turns others have in a row before one of them has one. Those who
 * manage come first anyway.
 */
const PLACES = {
  managing: { max: 50, maxPassedOver: Number.POSITIVE_INFINITY },
  erasing: { max: 10, maxPassedOver: 3 },
  visiting: { max: 50, maxPassedOver: 7 },
}
/**
 * For all holders together: from `many` on, only callers with few wait, since each is a request in flight. Beyond `max`, the
 * line with most makes room. Visitors are counted apart, so that nobody else gives way to them.
 */
const CROWD = { many: 120, max: 240 }
const CROWD_OF_VISITORS = { many: 60, max: 120 }
const FEW_OF_CALLER = 3
/** Of one caller, for all holders together. */
const MAX_OF_CALLER = 60
const WAIT_MS = 2_000

/** What somebody without rights in a store does who needs its lock: erase themselves, or visit. */
type Purpose = 'erase' | 'leave' | 'accept' | 'join'

/**
 * The holder is what the lock is shared by, such as a store. Without a purpose, the caller manages it. `enter` waits for whatever
 * else the work needs before it takes a connection, and resolves with the function that gives it back.
 */
export type Turn = {
  holder: string
  caller: { kind: string; id: string }
  purpose?: Purpose | undefined
  enter?: (() => Promise<() => void>) | undefined
}

/** Runs the work when it is the caller's turn. */
export type Turns = <T>(turn: Turn, work: () => Promise<T>) => Promise<T>

type Waiting = { begin(): void; refuse(): void }

/** What each caller waits with, oldest first. The first caller is the next. */
type Queue = Map<string, Waiting[]>

/** Those who share places of a line, the most important first. `passedOver`: the turns of others while one of them waited. */
type Group = { queues: Queue[]; max: number; maxPassedOver: number; passedOver: number }

/**
 * `managing`: people, then keys. The operator and the service itself are people here. `visiting`: those who leave or accept an
 * invitation, then those who join. Nobody can leave more often than they joined, so that many who do both in turn keep nobody
 * from leaving.
 */
type Line = { running: number; managing: Group; erasing: Group; visiting: Group }
type GroupName = keyof typeof PLACES

function newLine(): Line {
  const group = (name: GroupName, ranks: number): Group => {
    return { queues: Array.from({ length: ranks }, () => new Map()), ...PLACES[name], passedOver: 0 }
  }
  return { running: 0, managing: group('managing', 2), erasing: group('erasing', 1), visiting: group('visiting', 2) }
}

function placeOf({ caller, purpose }: Turn): { name: GroupName; rank: number } {
  switch (purpose) {
    case undefined:
      return { name: 'managing', rank: caller.kind === 'key' ? 1 : 0 }
    case 'erase':
      return { name: 'erasing', rank: 0 }
    case 'leave':
    case 'accept':
      return { name: 'visiting', rank: 0 }
    case 'join':
      return { name: 'visiting', rank: 1 }
  }
}

export function newTurns(waitMs = WAIT_MS): Turns {
  /** Of those who have any running. */
  const lines = new Map<string, Line>()
  let extra = 0
  const visitors = { ...CROWD_OF_VISITORS, waiting: 0 }
  const others = { ...CROWD, waiting: 0 }
  const waitingOf = new Map<string, number>()

  async function enter(turn: Turn): Promise<Line> {
    const { holder } = turn
    const line = lines.get(holder) ?? newLine()
    lines.set(holder, line)
    const { name } = placeOf(turn)
    if (line.running > 0 && (extra === MAX_EXTRA || name === 'visiting')) await waitIn(line, turn)
    else {
      if (line.running > 0) extra += 1
      line.running += 1
    }
    return line
  }

  function waitIn(line: Line, turn: Turn): Promise<void> {
    const { name, rank } = placeOf(turn)
    const group = line[name]
    const crowd = name === 'visiting' ? visitors : others
    const caller = `${turn.caller.kind} ${turn.caller.id}`
    const own = waitingOf.get(caller) ?? 0
    if (own >= MAX_OF_CALLER) throw tooLong()
    const isCrowded = crowd.waiting >= (own < FEW_OF_CALLER ? crowd.max : crowd.many)
    const largest = isCrowded ? largestGroup(lines.values(), name) : group
    if (sizeOf(group) >= group.max) makeRoom(group, rank, caller)
    else if (sizeOf(largest) >= sizeOf(group) + 2) newestOfMost(largest)?.refuse()
    else if (isCrowded) makeRoom(group, rank, caller)
    count(crowd, caller, 1)
    return waitFor(group.queues[rank] as Queue, caller, waitMs, () => count(crowd, caller, -1))
  }

  function count(crowd: { waiting: number }, caller: string, more: number): void {
    crowd.waiting += more
    const own = (waitingOf.get(caller) ?? 0) + more
    if (own > 0) waitingOf.set(caller, own)
    else waitingOf.delete(caller)
  }

  /** The next one takes the place. An extra place goes to another line that waits and has fewer, or that alone waits. */
  function leave(holder: string, line: Line): void {
    if (line.running > 1 && passOn(line)) line.running -= 1
    else if (!beginNext(line, line.running === 1)) {
      line.running -= 1
      if (line.running === 0) lines.delete(holder)
      else extra -= 1
    }
  }

  function passOn(line: Line): boolean {
    for (const [holder, other] of lines) {
      if (other === line || (nextGroup(line) && other.running >= line.running) || !beginNext(other)) continue
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

/** Inside what the turn enters before it takes a connection. */
export async function entered<T>({ enter }: Turn, run: () => Promise<T>): Promise<T> {
  const leave = await enter?.()
  try {
    return await run()
  } finally {
    leave?.()
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

/** `isAlone`: nobody else of the line works. */
function beginNext(line: Line, isAlone = false): boolean {
  const next = nextGroup(line, isAlone)
  if (next === null) return false
  for (const group of groupsOf(line))
    group.passedOver = group === next || sizeOf(group) === 0 ? 0 : group.passedOver + 1
  return beginNextOf(next)
}

/** Visitors begin when nobody else of the line works, or when they have been passed over often enough. */
function nextGroup({ managing, erasing, visiting }: Line, isAlone = false): Group | null {
  const isDue = ({ passedOver, maxPassedOver }: Group) => passedOver >= maxPassedOver
  const inOrder = [...[erasing, visiting].filter(isDue), ...[managing, erasing], ...(isAlone ? [visiting] : [])]
  return inOrder.find((group) => sizeOf(group) > 0) ?? null
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

const groupsOf = ({ managing, erasing, visiting }: Line) => [managing, erasing, visiting]

/** Of all lines: when all places are taken, whoever fills a line gives way to those who wait in a shorter one. */
function largestGroup(lines: Iterable<Line>, name: GroupName): Group {
  const groups = [...lines].flatMap((line) => (name === 'visiting' ? [line.visiting] : [line.managing, line.erasing]))
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
