// The seal of a store's events, checked in this browser: each hash covers its event and everything before it, so the last one
// must be the head that the service tells, and the one at the position of a head that somebody kept must be that head. How a
// hash is computed is written down in the docs of events.

import type { Event } from '@storekeeper/client'
import { sk, withSession } from '../../app/client.ts'

export type Head = { seq: number; hash: string; at?: string | null }
export type SealResult = {
  head: Head
  /** The hash of the events as they were read; null when they do not follow one another from 1 on. */
  hash: string | null
  /** Heads that were kept, each with whether the events up to it are still the same; null for one beyond the end. */
  kept: { head: Head; same: boolean | null }[]
}

const encoder = new TextEncoder()

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Canonical JSON (RFC 8785): members by the code units of their names; numbers and texts as JavaScript writes them. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

/** Reads the whole trail, oldest first; `onProgress` is told now and then how far it is. */
export async function checkSeal(
  storeId: string,
  keptHeads: Head[],
  onProgress: (done: number, of: number) => void,
  signal: AbortSignal,
): Promise<SealResult> {
  const head = await withSession(() => sk.store(storeId).events.head({ signal }))
  const wanted = new Set(keptHeads.map(({ seq }) => seq))
  const hashes = new Map<number, string>()
  let hash = await sha256(`storekeeper events 1\n${storeId}`)
  let position = 0
  hashes.set(0, hash)
  for await (const { position: place, ...event } of oldestFirst(storeId, head.seq, signal)) {
    if (place !== position + 1) return { head, hash: null, kept: [] }
    position = place
    hash = await sha256(`${hash}\n${canonical({ ...event, seq: position })}`)
    if (wanted.has(position)) hashes.set(position, hash)
    if (position % 200 === 0) onProgress(position, head.seq)
  }
  signal.throwIfAborted()
  const kept = keptHeads.map((old) => ({
    head: old,
    same: old.seq > head.seq ? null : hashes.get(old.seq) === old.hash,
  }))
  return { head, hash: position === head.seq ? hash : null, kept }
}

/** A store's first event is its creation; the stream gives all that follow it, in their order. */
async function* oldestFirst(storeId: string, last: number, signal: AbortSignal): AsyncGenerator<Event> {
  if (last === 0) return
  const { events } = sk.store(storeId)
  const [first] = await events.list({ type: 'store.created', subject: storeId }, { signal }).toArray({ max: 1 })
  if (!first) return
  yield first
  if (last === 1) return
  for await (const event of events.follow({ after: first.id }, { signal })) {
    yield event
    if ((event.position ?? 0) >= last) return
  }
}

/** Heads as people keep them: lines of JSON, as this page and `events head` give them, or `1042:9f86…`; dates between them. */
export function parseHeads(storeId: string, text: string): Head[] {
  return text.split('\n').flatMap((line): Head[] => {
    const short = /^\s*(\d+):([0-9a-f]{64})\s*$/.exec(line)
    if (short) return [{ seq: Number(short[1]), hash: short[2] as string }]
    try {
      const head = JSON.parse(line) as Head & { storeId?: string | null }
      const isHead = Number.isSafeInteger(head.seq) && /^[0-9a-f]{64}$/.test(head.hash)
      return isHead && (head.storeId === undefined || head.storeId === storeId) ? [head] : []
    } catch {
      return []
    }
  })
}
