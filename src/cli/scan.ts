// Looks for our tokens where they should not be: in files, in what is piped in, in the history of a git repository.
// It asks no database and no service, so it says what looks like ours and has a right checksum, not what still works.
// The exit code is 0 for nothing found, 1 for found, 2 for a scan that could not be done.

import { realpathSync, statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readKeyPrefix } from '../config.ts'
import { pathOf } from './place.ts'
import { type Place, reason, scanPlace, scanStream } from './scan-files.ts'
import { GitFault, scanHistory } from './scan-history.ts'
import { type Find, Search } from './scan-search.ts'
import { createTally, type Tally } from './scan-tally.ts'

type Io = { say(line: string): void; print(line: string): void }

const USAGE = `Usage: npm run --silent storekeeper -- scan [options] <path…>

Finds keys, session tokens, service tokens and invitations with a right checksum. A path is a file or a folder, with
everything in it but folders named .git; "-" is what is piped in.

  --history       read the history of the git repository at each path instead: all branches and tags
  --skip <name>   leave out files and folders of this name, such as node_modules; may be given again
  --json          print a line of JSON for each find
  --help          print this

Prints "path:line:column  kind  start…" for each find, never the whole token. Exit code: 0 nothing found, 1 found,
2 it could not be done. The setting KEY_PREFIX says what your tokens begin with.`

/** One sentence, with the way out. */
class ScanFault extends Error {}

export async function scan(args: string[], { say, print }: Io): Promise<number> {
  try {
    const { paths, options } = readArguments(args)
    if (options.help) {
      print(USAGE)
      return 0
    }
    return await scanAll(paths, options, print)
  } catch (error) {
    say((error as Error).message)
    return 2
  }
}

type Options = { history?: boolean; skip?: string[]; json?: boolean; help?: boolean }

function readArguments(args: string[]): { paths: string[]; options: Options } {
  const { values: options, positionals: paths } = parse(args)
  if (options.help) return { paths, options }
  if (paths.length === 0) throw new ScanFault(`Say what to scan: a file, a folder, or "-".\n\n${USAGE}`)
  if (options.history && paths.includes('-'))
    throw new ScanFault('--history reads a git repository, so name its folder instead of "-".')
  const skipped = options.skip?.find((name) => name.includes('/'))
  if (skipped) throw new ScanFault(`--skip takes the name of a file or folder, not a path such as "${skipped}".`)
  return { paths, options }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        history: { type: 'boolean' },
        skip: { type: 'string', multiple: true },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    // The rest of Node's message is about what a programmer could do.
    throw new ScanFault(`${(error as Error).message.split(/[.\n]/)[0]}.\n\n${USAGE}`)
  }
}

async function scanAll(paths: string[], options: Options, print: (line: string) => void): Promise<number> {
  const search = new Search(readKeyPrefix(process.env))
  const places = paths.map((path) => (path === '-' ? null : findPlace(path)))
  const tally = createTally(process.stderr, options.history ? 'object' : 'file')
  const tell = (where: Where, find: Find) => {
    tally.clear()
    tally.foundOne()
    print(options.json ? asJson(where, find) : asLine(where, find))
  }
  const skip = new Set(options.skip)
  for (const place of places) {
    if (place === null) await scanStream(process.stdin, search, tally, (find) => tell({ path: '-' }, find))
    else if (options.history) await scanRepository(place, search, skip, tally, tell)
    else await scanFiles(place, search, skip, tally, tell)
  }
  tally.summary()
  return tally.foundAny() ? 1 : 0
}

type Where = { path: string; commit?: string | null; object?: string }
type Tell = (where: Where, find: Find) => void

async function scanFiles(place: Place, search: Search, skip: Set<string>, tally: Tally, tell: Tell): Promise<void> {
  try {
    await scanPlace(place, search, new Set([...skip, '.git']), tally, (path, find) => tell({ path }, find))
  } catch (error) {
    tally.clear()
    throw new ScanFault(
      `Cannot read ${place.given}: ${reason(error)}. Run the scan as a user who may read it, or leave it out.`,
    )
  }
}

async function scanRepository(place: Place, search: Search, skip: Set<string>, tally: Tally, tell: Tell) {
  if (!place.stats.isDirectory())
    throw new ScanFault(`${place.given} is no folder: --history takes the folder of a git repository.`)
  try {
    for (const { commit, object, path, ...find } of await scanHistory(place.real, search, skip, tally))
      tell({ commit, object, path }, find)
  } catch (error) {
    tally.clear()
    if (!(error instanceof GitFault)) throw error
    if (error.message === 'git is not installed')
      throw new ScanFault('--history needs git, which was not found: install it, or add its folder to PATH.')
    throw new ScanFault(
      `Git cannot read the history at ${place.given} (${error.message}): name the folder of a whole clone that is yours.`,
    )
  }
}

function findPlace(given: string): Place {
  try {
    const path = pathOf(given)
    const stats = statSync(path)
    // A pipe such as the shell's <(command) is a link to what has no path.
    return { given, real: stats.isFile() || stats.isDirectory() ? realpathSync(path) : path, stats }
  } catch (error) {
    throw new ScanFault(`Cannot read ${given}: ${reason(error)}. Name a file or a folder that you may read.`)
  }
}

function asLine({ path, commit, object }: Where, { line, column, kind, start }: Find): string {
  const origin = object ? `${(commit ?? object).slice(0, 12)}:` : ''
  return `${origin}${plain(path)}:${line}:${column}  ${kind}  ${start}…`
}

function asJson({ path, commit, object }: Where, { line, column, kind, start }: Find): string {
  return JSON.stringify({ path, line, column, kind, start, ...(object ? { commit, object } : {}) })
}

/** A name of a file may hold what a terminal obeys. */
function plain(path: string): string {
  return path.replace(/[\x00-\x1f\x7f-\x9f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
