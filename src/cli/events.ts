// The trail for whoever audits it: exported, its seal printed, and an export checked without the service or its database.

import { createReadStream } from 'node:fs'
import type { Db } from '../db/db.ts'
import { readHeads, readSealed } from '../events/log.ts'
import { sealAll } from '../events/seal.ts'
import { type Anchor, exportLine, verifyChain } from '../events/verify.ts'
import { isId } from '../ids.ts'
import { pathOf } from './place.ts'
import { type Io, withDatabase } from './with-database.ts'

const USAGE = `Usage: events export <storeId>|--system
       events head <storeId>|--system|--all
       events verify <file>|- [--head <head>]`
/** What could not be checked at all is not the same as what was found to be unsound. */
export class UsageFault extends Error {
  readonly exitCode = 2
}

const PAGE = 1_000
const TOLD_EVERY = 100_000
/** No line of an export is nearly as long. */
const LONGEST_LINE = 1024 * 1024

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
      throw new UsageFault(USAGE)
  }
}

/** Null is what belongs to no store. */
function storeOf([name = '', ...more]: string[]): string | null {
  if (more.length > 0 || (name !== '--system' && !isId('store', name))) throw new UsageFault(USAGE)
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
  const { file, anchor } = readArguments(args)
  const told = (count: number) => {
    if (count % TOLD_EVERY === 0) io.say(`${count.toLocaleString('en')} events checked …`)
  }
  const verdict = await verifyChain(linesOf(file), anchor, told)
  if (!verdict.sound) throw new Error(`Not sound: ${verdict.finding} (line ${verdict.line}).`)
  if (verdict.chain === null) throw new Error('Not sound: there is no event in it.')
  io.print(`Sound: ${verdict.events.toLocaleString('en')} events of ${verdict.chain}, head ${verdict.hash}`)
  if (!anchor) io.say('Without --head nobody can tell whether events are missing at the end.')
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
      if (rest.length > LONGEST_LINE) return yield rest
    }
  } catch (error) {
    // A file that cannot be read is no finding about the chain.
    throw new UsageFault(`${file} could not be read: ${(error as Error).message}`)
  }
  if (rest !== '') yield rest.replace(/\r$/, '')
}

/** The head as `events head` and the API give it; or the hash alone, or with its position in front, as 42:9f86…. */
function readArguments(args: string[]): { file: string; anchor: Anchor | null } {
  const [file, option, head, ...more] = args[0] === '--head' ? [args[2], args[0], args[1], ...args.slice(3)] : args
  const found = HEAD.exec(head?.startsWith('{') ? headIn(head) : (head ?? ''))
  const wrong = option === undefined ? false : option !== '--head' || found === null
  if (file === undefined || more.length > 0 || wrong) throw new UsageFault(USAGE)
  return { file, anchor: found && { seq: found[1] ? Number(found[1]) : null, hash: found[2] as string } }
}

const HEAD = /^(?:(\d{1,15}):)?([0-9a-f]{64})$/

function headIn(json: string): string {
  try {
    const { seq, hash } = JSON.parse(json)
    return `${seq}:${hash}`
  } catch {
    return ''
  }
}
