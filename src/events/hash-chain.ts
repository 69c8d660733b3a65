// The hash chain of a store's events. Each hash is SHA-256 over a text of two lines, the previous hash in hexadecimal
// and the event in canonical JSON, its position included; the genesis hash is made from the store's id. With the last
// hash and the events alone one can tell whether anything before it was altered, removed, inserted or moved.

import { hash } from 'node:crypto'
import type { SealedEvent } from './schema.ts'

/** The chain of events that belong to no store: accounts, sessions, service tokens. */
export const SYSTEM_CHAIN = 'system'

export function genesis(chain: string): string {
  return hash('sha256', `storekeeper events 1\n${chain}`)
}

export function nextHash(before: string, event: SealedEvent): string {
  return nextHashOf(before, canonical(event))
}

/** Of an event that is in canonical form already. */
export function nextHashOf(before: string, event: string): string {
  return hash('sha256', `${before}\n${event}`)
}

/**
 * One spelling for each value (RFC 8785): no spaces, members in the order of their names, the rest as JSON.stringify
 * has it.
 */
export function canonical(value: unknown): string {
  // Strings and numbers are written by JSON.stringify as the RFC asks; sort() orders by UTF-16, as it does too.
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const each of value) text += `${text && ','}${canonical(each)}`
    return `[${text}]`
  }
  const members = value as Record<string, unknown>
  for (const name of Object.keys(members).sort())
    text += `${text && ','}${JSON.stringify(name)}:${canonical(members[name])}`
  return `{${text}}`
}
