// What the service must answer, as a model of each store: its keys, addresses, customers and events. It is changed when a
// request is answered. A node may decide by what it knew for `BOUND_MS` after a change was answered, so former states count
// that long, and longer for an answer that says of which moment it is (`asOf`).

/** Every node must know a change this long after the answer to it. */
export const BOUND_MS = 2_000
/** The oldest answer that is ever asked for, and some time for it to arrive. */
export const FORGET_MS = 90_000

type Former<State> = { state: State; until: number }
/** A state with those before it. */
export type Past<State> = { now: State; former: Former<State>[] }

export type KeyState = { enabled: boolean; revoked: boolean; permissions: string[] }

/** Uses of a rate limit: between `low` and `high` have been counted in a window that began at `from` at the earliest. */
export type Window = { limit: number; seconds: number; low: number; high: number; from: number; to: number; at: number }

export type ModelKey = {
  id: string
  storeId: string
  name: string
  secret: string
  /** Replaced by a rotation, and until when it may still be accepted. */
  retired: { secret: string; until: number } | null
  state: Past<KeyState>
  credits: number | null
  window: Window | null
  isBusy: boolean
  /** Counts what was done to it. */
  changes: number
}

export type ModelAddress = { id: string; line: string; version: number; isDefault: boolean }
/** The addresses of one person, by a path of their own. */
export type Book = { path: string; token: string; addresses: ModelAddress[]; isBusy: boolean }
export type ModelCustomer = { externalId: string; id: string; name: string; book: Book }

export type ModelStore = {
  id: string
  token: string
  frozen: Past<boolean>
  isFreezing: boolean
  keys: Map<string, ModelKey>
  revoked: Set<string>
  books: Book[]
  customers: Map<string, ModelCustomer>
  webhook: { id: string; isBusy: boolean }
  /** By type and subject: each happened once for each time that it was answered. */
  events: Map<string, number>
}

export function startedAs<State>(now: State): Past<State> {
  return { now, former: [] }
}

/** The change was answered `at` this moment. */
export function change<State>(past: Past<State>, next: State, at: number): void {
  past.former = past.former.filter(({ until }) => until > at - FORGET_MS)
  past.former.push({ state: past.now, until: at + BOUND_MS })
  past.now = next
}

/** All that a node may take for true at a moment. */
export function possible<State>({ now, former }: Past<State>, at: number): State[] {
  return [now, ...former.filter(({ until }) => until > at).map(({ state }) => state)]
}

export function note(store: ModelStore, type: string, subject: string): void {
  const name = `${type} ${subject}`
  store.events.set(name, (store.events.get(name) ?? 0) + 1)
}

/** What verifying may answer before credits and rate limits are looked at. */
export function verdicts(store: ModelStore, key: ModelKey, secret: string, permission: string | null, at: number) {
  const codes = new Set<string>()
  for (const state of possible(key.state, at))
    for (const frozen of possible(store.frozen, at)) codes.add(verdictOf(state, frozen, permission))
  if (secret === key.secret) return codes
  return key.retired?.secret === secret && key.retired.until > at ? codes.add('NOT_FOUND') : new Set(['NOT_FOUND'])
}

function verdictOf({ revoked, enabled, permissions }: KeyState, frozen: boolean, permission: string | null): string {
  if (revoked) return 'REVOKED'
  if (!enabled) return 'DISABLED'
  if (frozen) return 'FROZEN'
  return permission !== null && !permissions.includes(permission) ? 'INSUFFICIENT_PERMISSIONS' : 'VALID'
}

type Use = {
  firstSentAt: number
  sentAt: number
  answeredAt: number
  lost: number
  remaining: number
  limited: boolean
}

/** Counts a use, and says what is wrong with the answer. Windows may be lost with a primary, at `resetAt` the last time. */
export function spendWindow(window: Window, use: Use, resetAt: number): string | null {
  const { limit, seconds, low, high } = window
  const used = use.limited ? limit + 1 : limit - use.remaining
  const mayBeNew = use.answeredAt - window.from >= seconds * 1_000 - 50 || resetAt > window.at
  const mustBeNew = use.sentAt - window.to > seconds * 1_000 + 50
  const fitsOld = use.limited ? high + 1 + use.lost > limit : used >= low + 1 && used <= high + 1 + use.lost
  const fitsNew = used >= 1 && used <= 1 + use.lost
  window.at = use.answeredAt
  if (mayBeNew && fitsNew) {
    Object.assign(window, { low: used, high: used, from: use.firstSentAt, to: use.answeredAt })
    return null
  }
  if (mustBeNew || !fitsOld)
    return `${use.limited ? 'RATE_LIMITED' : `${use.remaining} left`} after ${low} to ${high} uses of ${limit}`
  window.low = Math.max(low + 1, used)
  window.high = use.limited ? high + 1 + use.lost : used
  return null
}

/** A new address in its place, as the default or not. */
export function addAddress(book: Book, address: ModelAddress): void {
  book.addresses.push(address)
  if (address.isDefault) makeDefault(book, address.id)
}

export function makeDefault({ addresses }: Book, id: string): void {
  for (const address of addresses) address.isDefault = address.id === id
}

/** The newest of the others takes its place as the default. */
export function removeAddress(book: Book, gone: ModelAddress): void {
  book.addresses = book.addresses.filter(({ id }) => id !== gone.id)
  const newest = book.addresses.toSorted((a, b) => (a.id < b.id ? 1 : -1))[0]
  if (gone.isDefault && newest) makeDefault(book, newest.id)
}

export function showBook({ addresses }: Pick<Book, 'addresses'>): string[] {
  return addresses.map(({ id, line, version, isDefault }) => `${id} ${line} ${version} ${isDefault}`).sort()
}
