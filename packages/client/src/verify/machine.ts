// When may a back end answer VALID from its own memory? This file decides it, and does nothing else: frames of the stream
// of changes, answers of the service and readings of the clocks come in, verdicts come out. The claim it has to keep: once
// the end of a key is committed, nothing is answered from memory later than 1.5 s after (docs/decisions/in-process-client.md).
//
// What the service has said of its own time is only ever added to moments at which this process has sent something. When
// an answer or a frame came in says nothing: it may have lain in a buffer for long.

import { type Coverage, dropAll, dropId, type Memory, newMemory } from './memory.ts'
import { DRIFT, elapsed, type Moment, NEVER } from './moment.ts'
import type { Frame } from './types.ts'

/** For how long memory is relied on after the last moment up to which every change was certainly heard. */
const TRUST_MS = 1_500
/** The longest that the request for a resumed stream may have taken. */
const TRAVEL_MS = 2_000
/** The times of the service are whole milliseconds. */
const ROUNDING_MS = 2
/** Nodes remember changes for this long. */
const MAX_BACK_MS = 60_000
/** Beats come every 500 ms: a stream that says nothing for this long is given up. */
const SILENT_MS = 1_200
/** A stream whose beats say nothing new for this long is given up as well: its node may have lost the database. */
const DEAF_MS = 4_000

export type Stream = {
  sent: Moment
  /** For how far back the node was asked to repeat changes; 0 when nothing is resumed. */
  back: number
  /** The number of the next frame. */
  next: number
  /** The node's clock when it read the request. */
  at: number
  lastFrame: Moment
}

export type Machine = Coverage & {
  memory: Memory
  stream: Stream | null
  /** The beginning of every key that the service issues; null until a stream has told. */
  prefix: string | null
  counters: { streams: number; resumed: number; changes: number; resets: number; broken: number; clockAhead: number }
}

export function newMachine(random: () => number, storeId?: string): Machine {
  return {
    memory: newMemory(random, storeId),
    stream: null,
    coveredSince: Number.POSITIVE_INFINITY,
    heard: NEVER,
    trustMs: TRUST_MS,
    prefix: null,
    counters: { streams: 0, resumed: 0, changes: 0, resets: 0, broken: 0, clockAhead: 0 },
  }
}

/** A request for the stream of changes is about to be sent, and asks the node to repeat those of the last `back` ms. */
export function openStream(machine: Machine, now: Moment): Stream {
  const back = Math.ceil((1 + DRIFT) * elapsed(machine.heard, now) + TRAVEL_MS + ROUNDING_MS)
  machine.stream = {
    sent: now,
    back: machine.coveredSince < now.mono && back <= MAX_BACK_MS ? back : 0,
    next: 1,
    at: Number.NaN,
    lastFrame: now,
  }
  return machine.stream
}

/** The stream has ended. What was covered until then can be resumed, on whichever node. */
export function closeStream(machine: Machine, stream: Stream): void {
  if (machine.stream === stream) machine.stream = null
}

/** Nothing is known of what comes next, nor of what was missed: what is kept lives for its own time and no longer. */
function uncover(machine: Machine): void {
  machine.coveredSince = Number.POSITIVE_INFINITY
  machine.heard = NEVER
}

/** The service does not accept this client any more. */
export function forget(machine: Machine): void {
  uncover(machine)
  dropAll(machine.memory)
}

/**
 * `go`: read on. `again`: open another stream now. `stop`: close this one, it cannot be relied on. Frames of a stream that
 * is not the open one change nothing.
 */
export function onFrame(machine: Machine, stream: Stream, frame: Frame, now: Moment): 'go' | 'again' | 'stop' {
  if (machine.stream !== stream) return 'stop'
  const step = frame.id === String(stream.next) ? FRAMES[frame.event] : undefined
  const data = parse(frame.data)
  if (!step || data === null || (frame.event === 'hello') !== (stream.next === 1)) return breakOff(machine, 'broken')
  stream.next += 1
  stream.lastFrame = now
  return step(machine, stream, data, now)
}

function breakOff(machine: Machine, why: 'broken' | 'clockAhead'): 'stop' {
  machine.counters[why] += 1
  uncover(machine)
  return 'stop'
}

type FrameData = Record<string, unknown>
type Step = (machine: Machine, stream: Stream, data: FrameData, now: Moment) => 'go' | 'again' | 'stop'

// An object without a prototype: what a stream sends is looked up in it.
const FRAMES: Record<string, Step> = Object.assign(Object.create(null), {
  hello: onHello,
  changed: onChanged,
  beat: onBeat,
  reset: onReset,
  bye: () => 'again',
})

function onHello(machine: Machine, stream: Stream, data: FrameData, now: Moment) {
  const { at, from, prefix, catalogue, trustMs } = data
  if (typeof at !== 'number' || typeof from !== 'number' || typeof catalogue !== 'string')
    return breakOff(machine, 'broken')
  stream.at = at
  // Nothing between the last stream and this one is untold: the node heard at - back before `heard` was.
  const isResumed = stream.back > 0 && from <= at - stream.back && elapsed(stream.sent, now) <= TRAVEL_MS
  machine.counters.streams += 1
  if (isResumed) machine.counters.resumed += 1
  else {
    machine.coveredSince = now.mono
    machine.heard = NEVER
  }
  if (typeof prefix === 'string') machine.prefix = prefix
  if (typeof trustMs === 'number') machine.trustMs = Math.min(trustMs, TRUST_MS)
  const { memory } = machine
  if (memory.catalogue !== catalogue) dropAll(memory)
  memory.catalogue = catalogue
  return 'go'
}

function onChanged(machine: Machine, _: Stream, { ids }: FrameData, now: Moment) {
  if (!Array.isArray(ids)) return breakOff(machine, 'broken')
  for (const id of ids) dropId(machine.memory, id, now.mono)
  machine.counters.changes += ids.length
  return 'go'
}

/**
 * The node has told every change it heard up to `heardUpTo`, on its clock. It read the request after it was sent: so much
 * time has passed since the sending, or more.
 */
function onBeat(machine: Machine, { sent, at }: Stream, { heardUpTo }: FrameData, now: Moment) {
  if (typeof heardUpTo !== 'number') return breakOff(machine, 'broken')
  const since = heardUpTo - at - DRIFT * Math.abs(heardUpTo - at)
  const heard = { mono: sent.mono + since, wall: sent.wall + since }
  // The clocks differ by more than they may, or this one stood still.
  if (heard.mono > now.mono + 1) return breakOff(machine, 'clockAhead')
  // Both are true: the later counts.
  if (elapsed(heard, now) <= elapsed(machine.heard, now)) machine.heard = heard
  // The time of day was set forward: the moment of sending is too old by it, until there is another.
  return now.wall - heard.wall >= machine.trustMs && now.mono - heard.mono < machine.trustMs ? 'again' : 'go'
}

/** The node itself may have missed changes. */
function onReset(machine: Machine, _: Stream, __: FrameData, now: Moment) {
  machine.coveredSince = now.mono
  machine.heard = NEVER
  machine.counters.resets += 1
  return 'go' as const
}

/** Whether the stream should be given up for another one. */
export function isSilent({ stream, heard }: Machine, now: Moment): boolean {
  if (stream === null) return false
  if (stream.next === 1) return elapsed(stream.sent, now) > TRAVEL_MS
  return (
    elapsed(stream.lastFrame, now) > SILENT_MS || Math.min(elapsed(heard, now), elapsed(stream.sent, now)) > DEAF_MS
  )
}

/** `covered`: a stream keeps memory fresh. `silent`: it is there, but tells nothing. `asking`: there is none. */
export function stateOf({ stream, heard, trustMs }: Machine, now: Moment): 'covered' | 'asking' | 'silent' {
  if (elapsed(heard, now) < trustMs) return 'covered'
  return stream === null || stream.next === 1 ? 'asking' : 'silent'
}

function parse(text: string): FrameData | null {
  try {
    const data = JSON.parse(text)
    return typeof data === 'object' ? data : null
  } catch {
    return null
  }
}
