// Checks an exported chain with nothing but the export: no database, no service, no secret. Each line is an event with its
// position and its hash, in canonical form; the first line that does not follow from the one before it is where something
// was done.

import { canonical, genesis, nextHash, type SealedEvent, SYSTEM_CHAIN } from './chain.ts'

/** A line of an export. */
export function exportLine(event: SealedEvent & { hash: string }): string {
  return canonical(event)
}

export type Anchor = { seq: number | null; hash: string }

export type Verdict =
  | { sound: true; events: number; hash: string; chain: string | null }
  | { sound: false; line: number; finding: string }

export async function verifyChain(
  lines: AsyncIterable<string>,
  anchor: Anchor | null,
  progress: (events: number) => void = () => {},
): Promise<Verdict> {
  let chain: string | null = null
  let hash = ''
  let seq = 0
  let line = 0
  let anchored = anchor === null
  for await (const text of lines) {
    line += 1
    const read = readLine(text)
    if (!read) return broken(line, `line ${line} is not as the export wrote it: it was altered`)
    const { event, sealed } = read
    const name = `event ${event.id} at position ${event.seq}`
    if (chain === null) {
      chain = event.storeId ?? SYSTEM_CHAIN
      hash = genesis(chain)
      if (isAnchor(anchor, seq, hash)) anchored = true
    }
    if ((event.storeId ?? SYSTEM_CHAIN) !== chain)
      return broken(line, `${name} belongs to another store: it was inserted`)
    if (event.seq > seq + 1) return broken(line, `${missing(seq + 1, event.seq - 1)}; ${name} follows`)
    if (event.seq <= seq) return broken(line, `${name} stands after position ${seq}: it was inserted or moved`)
    hash = nextHash(hash, event)
    if (hash !== sealed)
      return broken(line, `${name} does not match its hash: it was altered, or put in the place of another`)
    seq = event.seq
    if (isAnchor(anchor, seq, hash)) anchored = true
    else if (anchor?.seq === seq)
      return broken(
        line,
        `${name} has another hash than the head you gave: it, or what stands before it, was written anew`,
      )
    progress(seq)
  }
  if (!anchored) return broken(line + 1, unanchored(anchor as Anchor, seq))
  return { sound: true, events: seq, hash, chain }
}

function broken(line: number, finding: string): Verdict {
  return { sound: false, line, finding }
}

/** Null for what the export cannot have written: more or fewer members, another spelling, a name twice. */
function readLine(text: string): { event: SealedEvent; sealed: string } | null {
  try {
    const { hash, ...event } = JSON.parse(text)
    const whole = Number.isSafeInteger(event.seq) && event.seq > 0 && typeof event.id === 'string'
    return whole && typeof hash === 'string' && canonical({ ...event, hash }) === text ? { event, sealed: hash } : null
  } catch {
    return null
  }
}

function missing(first: number, last: number): string {
  return first === last
    ? `position ${first} is missing: it was removed or moved`
    : `positions ${first} to ${last} are missing: they were removed or moved`
}

function isAnchor(anchor: Anchor | null, seq: number, hash: string): boolean {
  return anchor !== null && anchor.hash === hash && (anchor.seq === null || anchor.seq === seq)
}

function unanchored({ seq: wanted }: Anchor, seq: number): string {
  if (wanted !== null && wanted > seq)
    return `the chain ends at position ${seq}, and the head you gave is at ${wanted}: its end was cut off`
  return `the head you gave is nowhere in this chain, which ends at position ${seq}: its end was cut off, or all of it was written anew`
}
