// Virtual time for the machine of the in-process verifier: events in the order of their moments, actors that can be frozen,
// connections that delay, buffer, lose and break.

import { newRandom, type Random } from '../random.ts'

type Event = { at: number; order: number; actor: Actor; lane: number; run: () => void }

/** A process, or the database. While it is frozen its events wait. */
export type Actor = { frozenUntil: number }

export type World = {
  now: number
  random: Random
  /** Runs `run` on the actor after `delay`. Events of one lane keep their order; lane 0 is for timers. */
  after(delay: number, actor: Actor, run: () => void, lane?: number): void
  runUntil(end: number): void
}

export function newWorld(seed: number): World {
  const random = newRandom(seed)
  const heap: Event[] = []
  let order = 0
  const heldUntil = new Map<number, number>()
  const wait = (event: Event, at: number) => {
    heldUntil.set(event.lane, at)
    push(heap, { ...event, at })
  }
  const world: World = {
    now: 0,
    random,
    after(delay, actor, run, lane = 0) {
      order += 1
      push(heap, { at: world.now + delay, order, actor, lane, run })
    },
    runUntil(end) {
      for (let event = pop(heap); event && event.at <= end; event = pop(heap)) {
        const { actor, lane } = event
        world.now = event.at
        if (actor.frozenUntil > world.now) {
          // On waking, timers come first, and the sockets in any order.
          const turn = lane === 0 ? 0 : 0.01 + ((lane * 7919 + Math.floor(actor.frozenUntil)) % 97) / 97
          wait(event, actor.frozenUntil + turn)
          // What comes later on the same connection does not overtake it.
        } else if (lane !== 0 && (heldUntil.get(lane) ?? 0) > world.now) wait(event, heldUntil.get(lane) as number)
        else event.run()
      }
    },
  }
  return world
}

const before = (a: Event, b: Event) => a.at < b.at || (a.at === b.at && a.order < b.order)

function push(heap: Event[], event: Event): void {
  let i = heap.length
  heap.push(event)
  while (i > 0) {
    const parent = (i - 1) >> 1
    if (!before(event, heap[parent] as Event)) break
    heap[i] = heap[parent] as Event
    i = parent
  }
  heap[i] = event
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (!last || last === first) return first
  let i = 0
  for (;;) {
    let child = 2 * i + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && before(heap[child + 1] as Event, heap[child] as Event)) child += 1
    if (!before(heap[child] as Event, last)) break
    heap[i] = heap[child] as Event
    i = child
  }
  heap[i] = last
  return first
}

/** One direction of a connection: what is sent arrives in order, unless it breaks. */
export type Pipe = {
  /** False once an end has closed it, or it was cut: nothing arrives any more. */
  isOpen: boolean
  /** Sent bytes vanish, and neither end notices. */
  isHalfOpen: boolean
  /** Until then what is sent lies in a buffer. */
  heldUntil: number
  /** The other end is gone. */
  onBreak: () => void
  send(run: () => void): void
}

let lanes = 0

/** `typical`: of the delays, in ms; now and then one is far longer. */
export function newPipe(world: World, to: Actor, typical: number): Pipe {
  const lane = ++lanes
  let lastArrival = 0
  const pipe: Pipe = {
    isOpen: true,
    isHalfOpen: false,
    heldUntil: 0,
    onBreak: () => {},
    send(run) {
      if (pipe.isHalfOpen) return
      lastArrival = Math.max(lastArrival, pipe.heldUntil, world.now + delayOf(world.random, typical))
      world.after(lastArrival - world.now, to, () => pipe.isOpen && run(), lane)
    },
  }
  return pipe
}

export function delayOf({ next }: Random, typical: number): number {
  const luck = next()
  return luck < 0.9 ? typical * luck : luck < 0.97 ? typical * 10 * next() : 2_500 * next()
}
