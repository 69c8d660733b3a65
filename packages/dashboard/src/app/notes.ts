// The notes of secrets that were never confirmed (secrets.ts). Every page of the dashboard sees to it that they are gone
// after an hour: they name people, stores and keys.

import type { Note } from './secrets.ts'
import { onUserChange } from './session.ts'

/** The service repeats an answer with a secret for an hour. */
const REPLAY_MS = 60 * 60 * 1000
const CHECK_MS = 60 * 1000

const NAME = 'storekeeper.unconfirmed'
const listeners = new Set<() => void>()
let cached: { text: string; notes: Note[] } = { text: '[]', notes: [] }

function all(): Note[] {
  const text = localStorage.getItem(NAME) ?? '[]'
  if (text !== cached.text) cached = { text, notes: parse(text) }
  return cached.notes
}

function parse(text: string): Note[] {
  try {
    return (JSON.parse(text) as Note[]).filter(({ madeAt }) => Date.now() - madeAt < REPLAY_MS)
  } catch {
    return []
  }
}

function write(notes: Note[]): void {
  if (notes.length === 0) localStorage.removeItem(NAME)
  else localStorage.setItem(NAME, JSON.stringify(notes))
  for (const listener of listeners) listener()
}

function dropExpired(): void {
  const text = localStorage.getItem(NAME)
  if (text === null) return
  const kept = parse(text)
  if (JSON.stringify(kept) !== text) write(kept)
}

/** When a page starts, while it is open, and when somebody signs in or out. */
export function dropExpiredNotes(): void {
  dropExpired()
  setInterval(dropExpired, CHECK_MS)
  onUserChange(dropExpired)
}

export const notes = {
  all,
  add: (note: Note) => write([...all(), note]),
  update: (note: Note) => write(all().map((one) => (one.idempotencyKey === note.idempotencyKey ? note : one))),
  remove: ({ idempotencyKey }: Note) => write(all().filter((one) => one.idempotencyKey !== idempotencyKey)),
  /** What was made is gone, so its secret is of no use. */
  forget: (madeId: string) => write(all().filter((one) => one.madeId !== madeId)),
  clear: () => write([]),
  /** Also told of what other tabs note. */
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    addEventListener('storage', listener)
    return () => {
      listeners.delete(listener)
      removeEventListener('storage', listener)
    }
  },
}
