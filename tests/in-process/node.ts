// The service in virtual time: a database that commits changes and tells them in order, and nodes that answer questions from
// their memory (src/auth/key-cache.ts), follow the database (src/db/listen.ts) and tell changes to streams.

import { type Actor, delayOf, newPipe, type Pipe, type World } from './world.ts'

export const KEYS = 3
export const STORES = 2
export const storeOf = (key: number) => key % STORES
const TRUSTED_MS = 1_500

/** What a node can do wrong: each breaks an obligation that the proof needs. */
export const NODE_MUTATIONS = [
  'a beat overtakes changes',
  'a gap is not told',
  'a gap stays in the ring',
  'knowledge has no age',
  'a shared lookup counts from its end',
] as const
export type NodeMutation = (typeof NODE_MUTATIONS)[number]

export type Version = { number: number; valid: boolean; endedAt: number }
export type Database = Actor & {
  versions: Version[][]
  listeners: Set<Listener>
  commit(id: string): void
  current(key: number): Version
}
type Listener = { pipe: Pipe; hear: (id: string) => void }

export function newDatabase(world: World, isEnded: () => boolean, onCommit: (key: number) => void): Database {
  const database: Database = {
    frozenUntil: 0,
    versions: Array.from({ length: KEYS }, () => [{ number: 0, valid: true, endedAt: Number.POSITIVE_INFINITY }]),
    listeners: new Set(),
    current: (key) => (database.versions[key] as Version[]).at(-1) as Version,
    commit(id) {
      world.after(0, database, () => {
        const [kind, n] = id.split('_')
        for (let key = 0; key < KEYS; key++)
          if (kind === 'key' ? key === Number(n) : storeOf(key) === Number(n)) {
            const version = database.current(key)
            version.endedAt = world.now
            database.versions[key]?.push({
              number: version.number + 1,
              valid: !isEnded(),
              endedAt: Number.POSITIVE_INFINITY,
            })
            onCommit(key)
          }
        for (const { pipe, hear } of database.listeners) pipe.send(() => hear(id))
      })
    },
  }
  return database
}

type Lookup = { began: number; version: Version | null; changed: boolean; waiting: ((version: Version) => void)[] }
type NodeStream = { pipe: Pipe; queue: string[]; next: number; isFlushing: boolean }
type LeaseAnswer = { version: Version; lease: { ageMs: number } | null }
export type SimulatedNode = Actor & {
  isUp: boolean
  streams: Set<NodeStream>
  listener: { pipe: Pipe } | null
  slowUntil: number
  loseListener(noticedAfter: number): void
  stop(): void
  start(): void
  open(pipe: Pipe, back: number, write: (frame: string, id: number, data: object) => void): void
  lease(key: number, answer: (given: LeaseAnswer) => void): void
}

export type NodeSettings = { rate: number; ringMs: number; lookupMs: number; mutation: NodeMutation | null }

export function newNode(world: World, database: Database, settings: NodeSettings): SimulatedNode {
  const { random } = world
  const { rate, mutation } = settings
  let offset = 1_000 * random.next()
  let boot = 0
  let heardUpTo = Number.NEGATIVE_INFINITY
  let listeningSince = Number.POSITIVE_INFINITY
  let isListening = false
  let ring: { at: number; id: string }[] = []
  const cache = new Map<number, { version: Version; askedAt: number }>()
  const lookups = new Map<number, Lookup>()
  const writers = new Map<NodeStream, (frame: string, id: number, data: object) => void>()
  const clock = () => rate * world.now + offset

  const write = (stream: NodeStream, frame: string, data: object) => {
    const id = stream.next++
    const writer = writers.get(stream)
    stream.pipe.send(() => writer?.(frame, id, data))
  }
  const flush = (stream: NodeStream) => {
    stream.isFlushing = false
    if (stream.queue.length > 0) write(stream, 'changed', { ids: stream.queue.splice(0) })
  }
  const beat = (stream: NodeStream) => {
    if (mutation !== 'a beat overtakes changes') flush(stream)
    if (heardUpTo > Number.NEGATIVE_INFINITY) write(stream, 'beat', { heardUpTo })
  }
  const changed = (id: string) => {
    const [kind, n] = id.split('_')
    for (let key = 0; key < KEYS; key++)
      if (kind === 'key' ? key === Number(n) : storeOf(key) === Number(n)) {
        cache.delete(key)
        const lookup = lookups.get(key)
        if (lookup) lookup.changed = true
        lookups.delete(key)
      }
    ring.push({ at: clock(), id })
    while (ring[0] && ring[0].at < clock() - settings.ringMs) ring.shift()
    for (const stream of node.streams) {
      stream.queue.push(id)
      if (stream.isFlushing) continue
      stream.isFlushing = true
      world.after(10, node, () => node.streams.has(stream) && flush(stream))
    }
  }
  const missed = () => {
    cache.clear()
    for (const lookup of lookups.values()) lookup.changed = true
    lookups.clear()
    heardUpTo = Number.NEGATIVE_INFINITY
    if (mutation !== 'a gap stays in the ring') {
      ring = []
      listeningSince = Number.POSITIVE_INFINITY
    }
  }
  const listen = (of: number) => {
    if (boot !== of || !node.isUp) return
    const pipe = newPipe(world, node, 3)
    const listener = {
      pipe,
      hear: changed,
    }
    node.listener = listener
    // LISTEN is answered after it was committed: all that commits from then on is told.
    world.after(delayOf(random, 3), database, () => {
      database.listeners.add(listener)
      pipe.send(() => {
        if (node.listener !== listener) return
        missed()
        isListening = true
        listeningSince = Math.min(listeningSince, clock())
        if (mutation !== 'a gap is not told')
          for (const stream of node.streams) {
            stream.queue = []
            write(stream, 'reset', { from: clock() })
          }
        heartbeat()
      })
    })
    const heartbeat = () => {
      if (node.listener !== listener || !isListening) return
      const at = clock()
      world.after(delayOf(random, 3), database, () =>
        pipe.send(() => {
          if (node.listener !== listener) return
          heardUpTo = at
          world.after(250, node, heartbeat)
        }),
      )
    }
  }
  const node: SimulatedNode = {
    frozenUntil: 0,
    isUp: false,
    streams: new Set(),
    listener: null,
    slowUntil: 0,
    loseListener(noticedAfter) {
      const { listener } = node
      const of = boot
      if (!listener) return
      listener.pipe.isHalfOpen = true
      world.after(noticedAfter, node, () => {
        if (node.listener !== listener) return
        database.listeners.delete(listener as Listener)
        listener.pipe.isOpen = false
        node.listener = null
        isListening = false
        missed()
        world.after(250, node, () => listen(of))
      })
    },
    stop() {
      node.isUp = false
      boot += 1
      for (const { pipe } of node.streams) {
        pipe.isOpen = false
        pipe.onBreak()
      }
      node.streams.clear()
      writers.clear()
      if (node.listener) {
        node.listener.pipe.isOpen = false
        database.listeners.delete(node.listener as Listener)
      }
      node.listener = null
      isListening = false
      listeningSince = Number.POSITIVE_INFINITY
      ring = []
      missed()
    },
    start() {
      node.isUp = true
      offset = 1_000_000 * random.next() - world.now * rate
      listen(boot)
    },
    open(pipe, back, writer) {
      const at = clock()
      const since = Math.max(listeningSince, at - settings.ringMs, at - back)
      const replay = ring.filter((change) => change.at >= since).map(({ id }) => id)
      const stream: NodeStream = { pipe, queue: replay, next: 1, isFlushing: false }
      node.streams.add(stream)
      writers.set(stream, writer)
      write(stream, 'hello', { node: 'n', at, from: Math.min(since, at), catalogue: 'c', trustMs: 1_500 })
      if (random.next() < 0.5) flush(stream)
      const tick = () => {
        if (!node.streams.has(stream)) return
        beat(stream)
        world.after(500, node, tick)
      }
      world.after(random.next() < 0.5 ? 0 : 500 * random.next(), node, tick)
      const end = () => {
        if (!node.streams.delete(stream)) return
        flush(stream)
        write(stream, 'bye', {})
      }
      world.after(24_000 + 12_000 * random.next(), node, end)
    },
    lease(key, answer) {
      const arrival = clock()
      const known = cache.get(key)
      const knownAt = known && Math.max(known.askedAt, heardUpTo)
      if (known && knownAt !== undefined && arrival - knownAt < TRUSTED_MS)
        return answer({
          version: known.version,
          lease: { ageMs: mutation === 'knowledge has no age' ? 0 : Math.max(0, arrival - knownAt) },
        })
      const answerFrom = (lookup: Lookup) => (version: Version) =>
        answer({
          version,
          lease:
            lookup.changed || !version.valid
              ? null
              : { ageMs: mutation === 'a shared lookup counts from its end' ? 0 : Math.max(0, arrival - lookup.began) },
        })
      const shared = lookups.get(key)
      if (shared) return void shared.waiting.push(answerFrom(shared))
      const lookup: Lookup = { began: arrival, version: null, changed: false, waiting: [] }
      lookup.waiting.push(answerFrom(lookup))
      lookups.set(key, lookup)
      const of = boot
      world.after(delayOf(random, 5), database, () => {
        const version = database.current(key)
        world.after(delayOf(random, settings.lookupMs), node, () => {
          if (boot !== of) return
          if (lookups.get(key) === lookup) lookups.delete(key)
          if (!lookup.changed && version.valid) cache.set(key, { version, askedAt: lookup.began })
          for (const each of lookup.waiting) each(version)
        })
      })
    },
  }
  return node
}
