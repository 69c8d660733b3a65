// The trail for whoever audits it: exported, its seal printed, and an export checked without the service or its database.

import { createReadStream } from 'node:fs'
import { parseArgs } from 'node:util'
import { isId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { SYSTEM_CHAIN } from '../events/hash-chain.ts'
import { readHeads, readSealed } from '../events/log.ts'
import { sealAll } from '../events/seal.ts'
import { type Anchor, exportLine, Inconclusive, verifyChain } from '../events/verify-export.ts'
import { pathOf } from './place.ts'
import { type Io, withDatabase } from './with-database.ts'

const USAGE = `Usage: events export <storeId>|--system
       events head <storeId>|--system|--all
       events verify <file>|- [--head <head>] [--heads <file of heads>]`
/** What could not be checked at all is not the same as what was found to be unsound. */
class Unchecked extends Error {
  readonly exitCode = 2
}

function usageFault(fault: string): Unchecked {
  return new Unchecked(`${fault}\n${USAGE}`)
}

const PAGE = 1_000
const TOLD_EVERY = 100_000
/** No line of an export is nearly as long. */
const MAX_LINE = 1024 * 1024

export async function events([verb, ...rest]: string[], io: Io): Promise<void> {
  switch (verb) {
    case 'export': {
      const storeId = storeOf(rest)
      return withDatabase(io, (db) => exportChain(db, storeId, io))
    }
    case 'head': {
      const storeId = rest.join() === '--all' ? undefined : storeOf(rest)
      return withDatabase(io, (db) => printHeads(db, storeId, io))
    }
    case 'verify':
      return verify(rest, io)
    default:
      throw usageFault(verb ? `There is no "events ${verb}".` : 'What about them?')
  }
}

/** Null is what belongs to no store. */
function storeOf([name, ...more]: string[]): string | null {
  if (name === undefined) throw usageFault('Name the store.')
  if (more.length > 0) throw usageFault(`One store at a time: "${more.join(' ')}" is too much.`)
  if (name !== '--system' && !isId('store', name)) throw usageFault(`"${name}" is not the id of a store.`)
  return name === '--system' ? null : name
}

async function exportChain(db: Db, storeId: string | null, io: Io): Promise<void> {
  await sealAll(db)
  let after = 0
  let count = 0
  for (;;) {
    const events = await readSealed(db, storeId, after, PAGE)
    if (events.length > 0) io.print(events.map(exportLine).join('\n'))
    after = events.at(-1)?.seq ?? after
    count += events.length
    if (events.length < PAGE) break
    if (count % TOLD_EVERY === 0) io.say(`${count.toLocaleString('en')} events …`)
  }
  if (count === 0) failWithout(storeId)
  io.say(`${count.toLocaleString('en')} events.`)
}

/** A line each, with what GET …/events/head answers. Without a store, of all of them. */
async function printHeads(db: Db, storeId: string | null | undefined, io: Io): Promise<void> {
  await sealAll(db)
  const heads = await readHeads(db, storeId)
  if (heads.length === 0) failWithout(storeId)
  for (const head of heads) io.print(JSON.stringify(head))
}

function failWithout(storeId: string | null | undefined): never {
  const what = storeId ? `events of ${storeId}` : 'such events'
  throw new Error(`There are no ${what} in this database. Are DATABASE_URL and DATA_DIR those of the service?`)
}

async function verify(args: string[], io: Io): Promise<void> {
  const { file, anchors } = await readArguments(args)
  const told = (count: number) => {
    if (count % TOLD_EVERY === 0) io.say(`${count.toLocaleString('en')} events checked …`)
  }
  const verdict = await verifyChain(linesOf(file), anchors, told).catch(asUnchecked)
  if (!verdict.sound) throw new Error(`Not sound: ${verdict.finding} (line ${verdict.line}).`)
  if (verdict.chain === null) throw new Error('Not sound: there is no event in it.')
  io.print(`Sound: ${verdict.events.toLocaleString('en')} events of ${verdict.chain}, head ${verdict.hash}`)
  const { anchoredUpTo: upTo, events } = verdict
  if (upTo === null)
    io.say('Without a head nobody can tell whether all was written anew, or events are missing at the end.')
  else if (upTo < events)
    io.say(`The heads vouch for positions up to ${upTo}. Whether what follows was written anew nobody can tell.`)
}

function asUnchecked(error: unknown): never {
  throw error instanceof Inconclusive ? new Unchecked(error.message) : error
}

/** What is too long to be a line of ours is given as far as it was read: no more of it is needed to see that. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(pathOf(file))
  input.setEncoding('utf8')
  let rest = ''
  try {
    for await (const chunk of input) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() as string
      for (const line of lines) yield line.replace(/\r$/, '')
      if (rest.length > MAX_LINE) return yield rest
    }
  } catch (error) {
    // A file that cannot be read is no finding about the chain.
    throw new Unchecked(`${file} could not be read: ${(error as Error).message}`)
  }
  if (rest !== '') yield rest.replace(/\r$/, '')
}

async function readArguments(args: string[]): Promise<{ file: string; anchors: Anchor[] }> {
  const { head, heads, file } = split(args)
  const given = head === undefined ? [] : [readHead(head)]
  if (heads === undefined) return { file, anchors: given }
  const kept = await readKept(heads)
  if (kept.length === 0) throw new Unchecked(`There is no head in ${heads}.`)
  return { file, anchors: [...given, ...kept] }
}

function split(args: string[]): { file: string; head?: string; heads?: string } {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { head: { type: 'string' }, heads: { type: 'string' } },
      allowPositionals: true,
    })
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0) throw new Error('Name one file, or - for what comes by stdin.')
    return { file, ...values }
  } catch (error) {
    throw usageFault((error as Error).message)
  }
}

const HEAD = /^(?:(\d{1,15}):)?([0-9a-f]{64})$/

/** The head as `events head` and the API give it; or the hash alone, or with its position in front, as 42:9f86…. */
function readHead(text: string): Anchor {
  const [, seq, hash] = HEAD.exec(text) ?? []
  if (hash) return { chain: null, seq: seq ? Number(seq) : null, hash }
  const anchor = headIn(text)
  if (!anchor)
    throw usageFault(`"${text}" is no head: give the line that "events head" prints, its hash, or <seq>:<hash>.`)
  return anchor
}

function headIn(line: string): Anchor | null {
  try {
    const { storeId, seq, hash } = JSON.parse(line)
    if (!HEAD.test(`${seq}:${hash}`)) return null
    return { chain: storeId === undefined ? null : (storeId ?? SYSTEM_CHAIN), seq, hash }
  } catch {
    return null
  }
}

/** Of a file in which heads were kept, with whatever else stands between them. */
async function readKept(file: string): Promise<Anchor[]> {
  const kept: Anchor[] = []
  for await (const line of linesOf(file)) {
    const anchor = headIn(line)
    if (anchor) kept.push(anchor)
    else if (line.startsWith('{')) throw new Unchecked(`${file} has a line that is no head: ${line.slice(0, 200)}`)
  }
  return kept
}
