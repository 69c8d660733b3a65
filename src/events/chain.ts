// The hash chain of a store's events. Each hash is SHA-256 over the hash before it and the event in canonical JSON, its
// position included; the first hash before all holds the store's id. So whoever knows the last hash can tell whether
// anything before it was altered, removed, inserted or moved, with nothing but the events themselves.

import { createHash } from 'node:crypto'
import type { Event } from './schema.ts'

/** What belongs to no store: accounts, sessions, service tokens. */
export const SYSTEM_CHAIN = 'system'

/** An event with its place. Outside a store `storeId` is null. */
export type SealedEvent = Omit<Event, 'storeId'> & { storeId: string | null; seq: number }

export function genesis(chain: string): Buffer {
  return createHash('sha256').update(`storekeeper events 1\n${chain}`).digest()
}

export function nextHash(before: Buffer, event: SealedEvent): Buffer {
  return createHash('sha256').update(before).update(canonical(event)).digest()
}

/** One spelling for each value (RFC 8785): no spaces, members in the order of their names, the rest as JSON.stringify has it. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  // Strings and numbers are written by JSON.stringify as the RFC asks; sort() orders by UTF-16, as it does too.
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}
