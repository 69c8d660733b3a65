// Checks an exported chain with nothing but the export: no database, no service, no secret. Each line is an event with
// its position and its hash, in canonical form; the first line that does not follow from the one before it shows
// where the trail was altered.

import { isId } from '../core/ids.ts'
import { canonical, genesis, nextHash, SYSTEM_CHAIN } from './hash-chain.ts'
import type { SealedEvent } from './schema.ts'

/** A line of an export. */
export function exportLine(event: SealedEvent & { hash: string }): string {
  return canonical(event)
}

/** A head that was kept outside the service, with its chain and position where they are known. */
export type Anchor = { chain: string | null; seq: number | null; hash: string }

/** `anchoredUpTo` is the last position that a head vouches for; null without a head. */
export type ChainReport =
  | { sound: true; events: number; hash: string; chain: string | null; anchoredUpTo: number | null }
  | { sound: false; line: number; finding: string }

/** The input is not enough to tell whether the chain is sound. */
export class Inconclusive extends Error {}

export async function verifyChain(
  lines: AsyncIterable<string>,
  anchors: Anchor[] = [],
  progress: (events: number) => void = () => {},
): Promise<ChainReport> {
  let chain: string | null = null
  let heads: Heads | null = null
  let hash = ''
  let seq = 0
  let line = 0
  for await (const text of lines) {
    line += 1
    const read = readLine(text)
    if (!read && line === 1 && !isLikeExport(text))
      throw new Inconclusive('This is no export: its first line is not one that "events export" prints.')
    if (!read) return broken(line, `line ${line} is not as the export wrote it: it was altered, or inserted`)
    const { event, sealed } = read
    const name = `event ${event.id} at position ${event.seq}`
    if (chain === null) {
      chain = event.storeId ?? SYSTEM_CHAIN
      hash = genesis(chain)
    }
    if ((event.storeId ?? SYSTEM_CHAIN) !== chain)
      return broken(line, `${name} belongs to another store: it was inserted`)
    if (event.seq > seq + 1) return broken(line, `${missing(seq + 1, event.seq - 1)}; ${name} follows`)
    if (event.seq <= seq) return broken(line, `${name} stands after position ${seq}: it was inserted or moved`)
    const before = hash
    hash = nextHash(hash, event)
    if (hash !== sealed)
      return broken(line, `${name} does not match its hash: it was altered, or put in the place of another`)
    // Only now is it certain whose chain this is.
    if (heads === null) {
      heads = headsOf(chain, anchors)
      heads.matches(seq, before)
    }
    seq = event.seq
    if (!heads.matches(seq, hash))
      return broken(
        line,
        `${name} has another hash than a head you gave: it, or what stands before it, was written anew`,
      )
    progress(seq)
  }
  const left = heads?.unmatched()
  if (left) return broken(line + 1, unanchored(left, seq))
  return { sound: true, events: seq, hash, chain, anchoredUpTo: heads?.upTo() ?? null }
}

type Heads = {
  /** False when an anchor of this position has another hash. */
  matches(seq: number, hash: string): boolean
  upTo(): number | null
  unmatched(): Anchor | undefined
}

/** The given heads of this chain, in the order of their positions. */
function headsOf(chain: string, anchors: Anchor[]): Heads {
  const ours = anchors.filter((anchor) => anchor.chain === null || anchor.chain === chain)
  if (anchors.length > 0 && ours.length === 0)
    throw new Inconclusive(`These are events of ${chain}, and no head you gave is: give one of ${chain}.`)
  const placed = ours.filter(({ seq }) => seq !== null).sort((one, other) => Number(one.seq) - Number(other.seq))
  const anywhere = new Map(ours.filter(({ seq }) => seq === null).map((anchor) => [anchor.hash, anchor]))
  let next = 0
  let upTo: number | null = null
  return {
    matches(seq, hash) {
      if (anywhere.delete(hash)) upTo = seq
      for (; placed[next]?.seq === seq; next++) {
        if (placed[next]?.hash !== hash) return false
        upTo = seq
      }
      return true
    },
    upTo: () => upTo,
    unmatched: () => placed[next] ?? [...anywhere.values()][0],
  }
}

function broken(line: number, finding: string): ChainReport {
  return { sound: false, line, finding }
}

/** Null for a line the export cannot have written: an id that is none, another spelling, a repeated name. */
function readLine(text: string): { event: SealedEvent; sealed: string } | null {
  try {
    const { hash, ...event } = JSON.parse(text)
    const { seq, id, storeId } = event
    const whole =
      Number.isSafeInteger(seq) && seq > 0 && isId('evt', id) && (storeId === null || isId('store', storeId))
    return whole && typeof hash === 'string' && canonical({ ...event, hash }) === text ? { event, sealed: hash } : null
  } catch {
    // It is no JSON, or an id is no text.
    return null
  }
}

function missing(first: number, last: number): string {
  return first === last
    ? `position ${first} is missing: it was removed or moved`
    : `positions ${first} to ${last} are missing: they were removed or moved`
}

/** Altered or not, it was a line of an export once. */
function isLikeExport(text: string): boolean {
  return text.includes('"seq":') && text.includes('"hash":')
}

function unanchored({ seq: wanted }: Anchor, seq: number): string {
  if (wanted !== null && wanted > seq)
    return `the chain ends at position ${seq}, and a head you gave is at ${wanted}: its end was cut off`
  return `a head you gave is nowhere in this chain, which ends at position ${seq}: its end was cut off, or all of it was written anew`
}
