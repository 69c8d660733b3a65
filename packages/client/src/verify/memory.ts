// The verdicts that a back end keeps. Only VALID is kept and answered from here: every other answer is asked for, so that a
// new key works at once and strangers cannot fill the memory. They are found by their SHA-256; no secret is kept.

import type { Verdict } from '../api.gen.ts'
import { DRIFT, elapsed, type Moment } from './moment.ts'
import type { Kept, Lease, Question } from './types.ts'

const MAX_KEYS = 10_000
const MAX_METADATA_CHARS = 8_000_000
/** Of one key that is bound to addresses. */
const MAX_ADDRESSES = 16
/** How long, and how many at most, changed ids are remembered for answers that are still under way. */
const REMEMBERED_MS = 5_000
const MAX_REMEMBERED = 20_000
/** After about this time a key in use is asked for again in the background, which finds out whether memory is right. */
const RENEW_MS = 300_000
const NEVER_AGAIN = 2 ** 31 - 1

/** How a question names the store: by its id, or in one of these ways. */
const ANY_STORE = 1
const NO_STORE = 2

/**
 * Uses of one secret since the last report, and the permissions that were asked for: of the first 32 a bit each, since a number
 * stands in the entry itself.
 */
export type Uses = {
  keyId: string
  secret: number
  permissions: readonly string[]
  count: number
  at: number
  asked: number
  alsoAsked: Set<string> | null
}

type Entry = Uses & {
  /** By which it is found: the hash, or the hash and the address. */
  name: string
  hash: string
  verdict: Kept
  // What every answer looks at stands in the entry itself, and equal lists of permissions are one: of ten thousand keys most
  // are not in the processor's caches, and each further place in memory costs as much as the rest of the answer. So these
  // numbers are whole: V8 keeps an integer in the object, and any other number in a place of its own.
  storeId: string
  type: string
  asOfMono: number
  asOfWall: number
  /** null: it does not end by itself. */
  ends: Moment | null
  /** The ways of naming the store that the service has accepted for this key, beside the store's id. */
  waysAsked: number
  renewAtSecond: number
  chars: number
}

export type Memory = {
  random: () => number
  /** Of questions that name none. */
  storeId: string | undefined
  /** By hash, or by hash and address for keys that are bound to addresses. */
  entries: Map<string, Entry>
  /** The names of entries for each hash that is bound to addresses, and for each id of a key or store. */
  bound: Map<string, Set<string>>
  byId: Map<string, Set<string>>
  chars: number
  /** Lists of permissions, by their text. */
  lists: Map<string, readonly string[]>
  /** Secrets whose verifications spend something: always asked, and nobody waits for somebody else's answer. */
  spending: Set<string>
  /** When each id was last told as changed, the oldest first; and up to when that was forgotten again. */
  changedAt: Map<string, number>
  forgottenUpTo: number
  catalogue: string | null
  used: Uses[]
  /** Set by an answer from memory that should be asked for again. */
  isRenewalDue: boolean
  counters: { answered: number; surprised: number }
}

/** What the stream of changes has told: all that was committed from the one moment up to the other. */
export type Coverage = {
  /** A reading of the clock that never goes back. */
  coveredSince: number
  heard: Moment
  /** How long memory is relied on after the last moment up to which every change was certainly heard. */
  trustMs: number
}

export function newMemory(random: () => number, storeId: string | undefined): Memory {
  return {
    random,
    storeId,
    entries: new Map(),
    bound: new Map(),
    byId: new Map(),
    chars: 0,
    lists: new Map(),
    spending: new Set(),
    changedAt: new Map(),
    forgottenUpTo: Number.NEGATIVE_INFINITY,
    catalogue: null,
    used: [],
    isRenewalDue: false,
    counters: { answered: 0, surprised: 0 },
  }
}

// ---- answering -------------------------------------------------------------------------------------------------------

/** VALID, or null: then the service has to be asked. */
export function answer(
  machine: Coverage & { memory: Memory },
  hash: string,
  question: Question,
  mono: number,
  wall: number,
): Verdict | null {
  const { memory } = machine
  const entry = find(memory, hash, question)
  if (entry === undefined || !isTrusted(machine, entry, mono, wall) || !isGranted(entry, question, memory.storeId))
    return null
  memory.counters.answered += 1
  if (mono > 1_000 * entry.renewAtSecond) {
    // The question that is sent now counts as this use.
    entry.renewAtSecond = NEVER_AGAIN
    memory.isRenewalDue = true
  } else count(memory, entry, question.permissions, mono)
  return entry.verdict
}

function find({ entries, bound }: Memory, hash: string, { ip }: Question): Entry | undefined {
  return entries.get(hash) ?? (bound.size > 0 && ip !== undefined ? entries.get(`${hash} ${ip}`) : undefined)
}

/** Comparisons are written so that what is no number is not trusted. */
function isTrusted({ coveredSince, heard, trustMs }: Coverage, entry: Entry, mono: number, wall: number): boolean {
  const { ends } = entry
  if (ends !== null && !(mono < ends.mono && wall < ends.wall)) return false
  if (mono - heard.mono < trustMs && wall - heard.wall < trustMs && entry.asOfMono > coveredSince) return true
  return mono - entry.asOfMono < trustMs && wall - entry.asOfWall < trustMs
}

/** What differs from question to question is looked at each time. A member that is not known here is asked about. */
function isGranted(entry: Entry, question: Question, storeId: string | undefined): boolean {
  const { permissions, waysAsked } = entry
  for (const name in question)
    switch (name) {
      case 'key':
      case 'ip':
      case 'cost':
      case 'storeId':
      case 'anyStore':
        break
      case 'permissions':
        for (const permission of question.permissions ?? []) if (!permissions.includes(permission)) return false
        break
      case 'anyPermissions':
        if (question.anyPermissions?.some((permission) => permissions.includes(permission)) === false) return false
        break
      case 'types':
        if (question.types?.some((type) => type === entry.type) === false) return false
        break
      default:
        if (question[name as keyof Question] !== undefined) return false
    }
  const way = wayOf(question, storeId)
  if (way !== 0) return (waysAsked & way) !== 0
  return (
    (question.storeId ?? storeId) === entry.storeId &&
    (question.storeId === undefined || question.anyStore === undefined)
  )
}

function count(memory: Memory, uses: Uses, permissions: readonly string[] | undefined, mono: number): void {
  if (uses.count === 0) memory.used.push(uses)
  uses.count += 1
  uses.at = Math.floor(mono)
  if (permissions !== undefined) for (const permission of permissions) noteAsked(uses, permission)
}

function noteAsked(uses: Uses, permission: string): void {
  const bit = uses.permissions.indexOf(permission)
  if (bit < 32) uses.asked |= 1 << bit
  else uses.alsoAsked = (uses.alsoAsked ?? new Set()).add(permission)
}

// ---- keeping ---------------------------------------------------------------------------------------------------------

/** The service has answered a question that was sent at `asked`. */
export function onAnswer(
  machine: Coverage & { memory: Memory },
  hash: string,
  question: Question,
  verdict: Verdict,
  lease: Lease | null,
  asked: Moment,
  now: Moment,
): void {
  const { memory } = machine
  if (!verdict.valid) return onRefusal(machine, hash, question, now)
  if (lease === null) return remember(memory.spending, hash)
  memory.spending.delete(hash)
  const { keyId, storeId, type } = verdict
  // The node knew every change up to this moment: its knowledge was so old when the question came in, after it was sent.
  const age = (1 + DRIFT) * Math.max(0, lease.ageMs)
  const asOf = { mono: asked.mono - age, wall: asked.wall - age }
  if (lease.byAddress && question.ip === undefined) return
  memory.catalogue ??= lease.catalogue
  if (memory.catalogue !== lease.catalogue || !(elapsed(asOf, now) < REMEMBERED_MS)) return
  // A node that has not heard of a change yet may answer after the stream of another has told it.
  const { changedAt, forgottenUpTo } = memory
  const lastChange = Math.max(forgottenUpTo, changedAt.get(keyId) ?? -Infinity, changedAt.get(storeId) ?? -Infinity)
  if (!(asOf.mono > lastChange)) return
  const name = lease.byAddress ? `${hash} ${question.ip}` : hash
  const known = memory.entries.get(name)
  if (known && known.asOfMono > asOf.mono) return
  const lasts = lease.validForMs === null ? null : (1 - DRIFT) * lease.validForMs
  const isSame = known?.verdict.keyId === keyId && known.secret === lease.secret
  const permissions = shared(memory.lists, verdict.permissions)
  put(memory, {
    count: 0,
    asked: 0,
    waysAsked: wayOf(question, memory.storeId) | (isSame ? known.waysAsked : 0),
    renewAtSecond: Math.round((now.mono + RENEW_MS * (0.8 + 0.4 * memory.random())) / 1_000),
    ends: lasts === null ? null : { mono: asked.mono + lasts, wall: asked.wall + lasts },
    verdict,
    permissions,
    asOfMono: Math.floor(asOf.mono),
    at: 0,
    storeId,
    asOfWall: asOf.wall,
    alsoAsked: null,
    type,
    keyId,
    secret: lease.secret,
    name,
    hash,
    chars: JSON.stringify(verdict).length,
  })
}

/** The one list of these permissions. */
function shared(lists: Memory['lists'], permissions: readonly string[]): readonly string[] {
  const text = permissions.join()
  const known = lists.get(text)
  if (known) return known
  if (lists.size >= MAX_KEYS) lists.clear()
  const list = [...permissions]
  lists.set(text, list)
  return list
}

/** `ours`: the store of questions that name none. */
function wayOf({ storeId, anyStore }: Question, ours: string | undefined): number {
  if (storeId !== undefined) return 0
  return anyStore === true ? ANY_STORE : ours === undefined ? NO_STORE : 0
}

/** A key that memory would let in for the very same question: but for a change that is being told, memory was wrong. */
function onRefusal(
  machine: Coverage & { memory: Memory },
  hash: string,
  question: Question,
  { mono, wall }: Moment,
): void {
  const entry = find(machine.memory, hash, question)
  if (entry === undefined || !isGranted(entry, question, machine.memory.storeId)) return
  if (isTrusted(machine, entry, mono, wall)) machine.memory.counters.surprised += 1
  drop(machine.memory, entry.name)
}

function put(memory: Memory, entry: Entry): void {
  const { entries, byId, bound } = memory
  const { name, hash, verdict } = entry
  drop(memory, name)
  if (name === hash) for (const each of [...(bound.get(hash) ?? [])]) drop(memory, each)
  else {
    drop(memory, hash)
    const names = bound.get(hash)
    if (names && names.size >= MAX_ADDRESSES) drop(memory, names.values().next().value as string)
    link(bound, hash, name)
  }
  entries.set(name, entry)
  memory.chars += entry.chars
  link(byId, verdict.keyId, name)
  link(byId, verdict.storeId, name)
  while (entries.size > MAX_KEYS || memory.chars > MAX_METADATA_CHARS)
    drop(memory, entries.keys().next().value as string)
}

function drop(memory: Memory, name: string): void {
  const entry = memory.entries.get(name)
  if (entry === undefined) return
  memory.entries.delete(name)
  memory.chars -= entry.chars
  unlink(memory.byId, entry.verdict.keyId, name)
  unlink(memory.byId, entry.verdict.storeId, name)
  unlink(memory.bound, entry.hash, name)
}

function link(index: Map<string, Set<string>>, id: string, name: string): void {
  const names = index.get(id)
  if (names) names.add(name)
  else index.set(id, new Set([name]))
}

function unlink(index: Map<string, Set<string>>, id: string, name: string): void {
  const names = index.get(id)
  if (names?.delete(name) && names.size === 0) index.delete(id)
}

// ---- changes ---------------------------------------------------------------------------------------------------------

/** A key, or a store with all its keys, has changed. */
export function dropId(memory: Memory, id: string, mono: number): void {
  for (const name of [...(memory.byId.get(id) ?? [])]) drop(memory, name)
  const { changedAt } = memory
  changedAt.delete(id)
  changedAt.set(id, mono)
  for (const [oldest, at] of changedAt) {
    if (at > mono - REMEMBERED_MS && changedAt.size <= MAX_REMEMBERED) break
    changedAt.delete(oldest)
    memory.forgottenUpTo = at
  }
}

export function dropAll(memory: Memory): void {
  for (const index of [memory.entries, memory.bound, memory.byId, memory.spending]) index.clear()
  memory.chars = 0
}

/** Only secrets that were VALID come here. */
function remember(hashes: Set<string>, hash: string): void {
  hashes.add(hash)
  if (hashes.size > MAX_KEYS) hashes.delete(hashes.values().next().value as string)
}
