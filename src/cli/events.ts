// The trail for whoever audits it: exported, its seal printed, and an export checked without the service or its database.

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Db } from '../db/db.ts'
import { readHead, readSealed } from '../events/log.ts'
import { sealAll } from '../events/seal.ts'
import { type Anchor, exportLine, verifyChain } from '../events/verify.ts'
import { isId } from '../ids.ts'
import { type Io, withDatabase } from './with-database.ts'

const USAGE =
  'Usage: events export <storeId>|--system | events head <storeId>|--system | events verify <file>|- [--head <hash>]'
/** What could not be checked at all is not the same as what was found to be unsound. */
export class UsageFault extends Error {
  readonly exitCode = 2
}

const PAGE = 1_000
const TOLD_EVERY = 100_000

export async function events([verb, ...rest]: string[], io: Io): Promise<void> {
  switch (verb) {
    case 'export':
      return withDatabase(io, (db) => exportChain(db, storeOf(rest), io))
    case 'head':
      return withDatabase(io, (db) => printHead(db, storeOf(rest), io))
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
  for (;;) {
    const events = await readSealed(db, storeId, after, PAGE)
    if (events.length > 0) io.print(events.map(exportLine).join('\n'))
    after = events.at(-1)?.seq ?? after
    if (events.length < PAGE) break
    if (after % TOLD_EVERY === 0) io.say(`${after.toLocaleString('en')} events …`)
  }
  if (after === 0) throw new Error(storeId ? `There are no events of ${storeId}.` : 'There are no such events yet.')
  io.say(`${after.toLocaleString('en')} events.`)
}

/** One line, as GET …/events/head answers. */
async function printHead(db: Db, storeId: string | null, io: Io): Promise<void> {
  await sealAll(db)
  io.print(JSON.stringify(await readHead(db, storeId)))
}

async function verify(args: string[], io: Io): Promise<void> {
  const { file, anchor } = readArguments(args)
  const input = file === '-' ? process.stdin : createReadStream(file)
  // A file that cannot be read is no finding about the chain.
  const unreadable = new Promise<never>((_, reject) =>
    input.once('error', (error: Error) => reject(new UsageFault(`${file} could not be read: ${error.message}`))),
  )
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  const told = (count: number) => {
    if (count % TOLD_EVERY === 0) io.say(`${count.toLocaleString('en')} events checked …`)
  }
  const verdict = await Promise.race([verifyChain(lines, anchor, told), unreadable])
  if (!verdict.sound) throw new Error(`Not sound: ${verdict.finding} (line ${verdict.line}).`)
  if (verdict.chain === null) throw new Error('Not sound: there is no event in it.')
  io.print(`Sound: ${verdict.events.toLocaleString('en')} events of ${verdict.chain}, head ${verdict.hash}`)
  if (!anchor) io.say('Without --head nobody can tell whether events are missing at the end.')
}

/** The head as `events head` and the API give it: the hash, or with its position in front, as 42:9f86…. */
function readArguments(args: string[]): { file: string; anchor: Anchor | null } {
  const [file, option, head, ...more] = args[0] === '--head' ? [args[2], args[0], args[1], ...args.slice(3)] : args
  const found = /^(?:(\d{1,15}):)?([0-9a-f]{64})$/.exec(head ?? '')
  const wrong = option === undefined ? false : option !== '--head' || found === null
  if (file === undefined || more.length > 0 || wrong) throw new UsageFault(USAGE)
  return { file, anchor: found && { seq: found[1] ? Number(found[1]) : null, hash: found[2] as string } }
}
