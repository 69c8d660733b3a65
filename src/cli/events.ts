// The event log for an auditor: exported, its head printed, and an export checked without the service or its database.

import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import type { Command } from 'commander'
import { isId } from '../core/ids.ts'
import type { Db } from '../db/db.ts'
import { SYSTEM_CHAIN } from '../events/hash-chain.ts'
import { readHeads, readSealed } from '../events/log.ts'
import { sealAll } from '../events/seal.ts'
import { type Anchor, exportLine, Inconclusive, verifyChain } from '../events/verify-export.ts'
import { callerPath, type Io } from './io.ts'
import { usageErrors } from './program.ts'
import { withDatabase } from './with-database.ts'

const USAGE = `Usage: events export <storeId>|--system
       events head <storeId>|--system|--all
       events verify <file>|- [--head <head>] [--heads <file of heads>]`

/** Nothing could be checked at all, which differs from a chain that was found to be unsound. */
class Unchecked extends Error {
  readonly exitCode = 2
}

const usageError = (fault: string) => new Unchecked(`${fault}\n${USAGE}`)

const PAGE = 1_000
const PROGRESS_EVERY = 100_000
/** No line of an export is nearly as long. */
const MAX_LINE_LENGTH = 1024 * 1024

export function addEvents(program: Command, io: Io): void {
  const group = program
    .command('events')
    .exitOverride(usageErrors(usageError))
    .argument('[verb...]')
    .action(([verb]: string[]) => {
      throw usageError(verb ? `Unknown subcommand: events ${verb}.` : 'Name a subcommand.')
    })
  group
    .command('export')
    .usage('<storeId>')
    .argument('[storeId...]')
    .option('--system')
    .description('print the sealed events of a store, one line of JSON each; --system: events that belong to no store')
    .action((names: string[], options: StoreOptions) => {
      const storeId = storeOf(names, options)
      return withDatabase(io, (db) => exportChain(db, storeId, io))
    })
  group
    .command('head')
    .usage('<storeId>')
    .argument('[storeId...]')
    .option('--system')
    .option('--all')
    .description('print the head of the chain, its last position and hash; --all: of every store')
    .action((names: string[], options: StoreOptions) => {
      const everyStore = options.all && !options.system && names.length === 0
      const storeId = everyStore ? undefined : storeOf(names, options)
      return withDatabase(io, (db) => printHeads(db, storeId, io))
    })
  group
    .command('verify')
    .usage('<file>')
    .argument('[file...]')
    .option('--head <head>')
    .option('--heads <file of heads>')
    .description('verify an export, from a file or - for stdin; --heads <file>: also against the heads you kept')
    .action((files: string[], options: HeadOptions) => verify(files, options, io))
}

type StoreOptions = { system?: boolean; all?: boolean }
type HeadOptions = { head?: string; heads?: string }

/** Null is the chain of the events that belong to no store. */
function storeOf(names: string[], { system, all }: StoreOptions): string | null {
  const [name, ...more] = [...names, ...(system ? ['--system'] : []), ...(all ? ['--all'] : [])]
  if (name === undefined) throw usageError('Name the store.')
  if (more.length > 0) throw usageError(`One store at a time. Unexpected: ${more.join(' ')}.`)
  if (name !== '--system' && !isId('store', name)) throw usageError(`"${name}" is not the id of a store.`)
  return name === '--system' ? null : name
}

async function exportChain(db: Db, storeId: string | null, io: Io): Promise<void> {
  await sealAll(db)
  // An export is verified by its bytes. A terminal shows it, and nobody verifies it from there.
  const print = io.stdout.isTTY ? io.print : io.printAsIs
  let after = 0
  let count = 0
  for (;;) {
    const events = await readSealed(db, storeId, after, PAGE)
    if (events.length > 0) print(events.map(exportLine).join('\n'))
    after = events.at(-1)?.seq ?? after
    count += events.length
    if (events.length < PAGE) break
    if (count % PROGRESS_EVERY === 0) io.say(`${count.toLocaleString('en')} events …`)
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

async function verify([file, ...more]: string[], options: HeadOptions, io: Io): Promise<void> {
  if (file === undefined || more.length > 0) throw usageError('Name one file, or - for stdin.')
  const anchors = await readAnchors(options, io)
  const showProgress = (count: number) => {
    if (count % PROGRESS_EVERY === 0) io.say(`${count.toLocaleString('en')} events checked …`)
  }
  const verdict = await verifyChain(linesOf(file, io), anchors, showProgress).catch(asUnchecked)
  if (!verdict.sound) throw new Error(`Not sound: ${verdict.finding} (line ${verdict.line}).`)
  if (verdict.chain === null) throw new Error('Not sound: the export contains no events.')
  io.print(`Sound: ${verdict.events.toLocaleString('en')} events of ${verdict.chain}, head ${verdict.hash}`)
  const { anchoredUpTo: upTo, events } = verdict
  if (upTo === null)
    io.say('Without a head, this cannot show whether the whole trail was rewritten or events are missing at the end.')
  else if (upTo < events)
    io.say(`The heads prove positions up to ${upTo}. They cannot show whether later events were rewritten.`)
}

function asUnchecked(error: unknown): never {
  throw error instanceof Inconclusive ? new Unchecked(error.message) : error
}

/** A line that is too long for an export is given only as far as it was read: that is enough to refuse it. */
async function* linesOf(file: string, io: Io): AsyncGenerator<string> {
  const input: AsyncIterable<Buffer> = file === '-' ? io.stdin : createReadStream(callerPath(io, file))
  const decoder = new StringDecoder('utf8')
  let rest = ''
  try {
    for await (const chunk of input) {
      const lines = (rest + decoder.write(chunk)).split('\n')
      rest = lines.pop() as string
      for (const line of lines) yield line.replace(/\r$/, '')
      if (rest.length > MAX_LINE_LENGTH) return yield rest
    }
  } catch (error) {
    // A file that cannot be read is no finding about the chain.
    throw new Unchecked(`${file} could not be read: ${(error as Error).message}`)
  }
  rest += decoder.end()
  if (rest !== '') yield rest.replace(/\r$/, '')
}

async function readAnchors({ head, heads }: HeadOptions, io: Io): Promise<Anchor[]> {
  const given = head === undefined ? [] : [parseHead(head)]
  if (heads === undefined) return given
  const kept = await readKept(heads, io)
  if (kept.length === 0) throw new Unchecked(`There is no head in ${heads}.`)
  return [...given, ...kept]
}

const HEAD = /^(?:(\d{1,15}):)?([0-9a-f]{64})$/

/** The head as `events head` and the API give it; or the hash alone, or with its position in front, as 42:9f86…. */
function parseHead(text: string): Anchor {
  const [, seq, hash] = HEAD.exec(text) ?? []
  if (hash) return { chain: null, seq: seq ? Number(seq) : null, hash }
  const anchor = headIn(text)
  if (!anchor)
    throw usageError(`"${text}" is not a head: use the line that "events head" prints, its hash, or <seq>:<hash>.`)
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

/** The heads in a file in which they were kept, such as a log of cron: other lines between them are passed over. */
async function readKept(file: string, io: Io): Promise<Anchor[]> {
  const kept: Anchor[] = []
  for await (const line of linesOf(file, io)) {
    const anchor = headIn(line)
    if (anchor) kept.push(anchor)
    else if (line.startsWith('{')) throw new Unchecked(`${file} has a line that is no head: ${line.slice(0, 200)}`)
  }
  return kept
}
