// Reads everything that was ever committed: each version of each file once, and the messages of commits and tags. Git
// does the reading, and its output is scanned as it streams:
//
//   rev-list: every object the refs lead to, with a path → cat-file: which are trees; they are left out
//     → cat-file: the bytes of the others
//
// Only when something was found, a second walk tells the first commit that held it.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sha256 } from '../crypto/tokens.ts'
import type { Find, Search } from './scan-search.ts'
import type { Tally } from './scan-tally.ts'

/** The commit is null where no commit holds it: a ref may point to a file or tag of its own. */
export type Committed = Find & { commit: string | null; object: string; path: string }

type Seen = Find & { object: string; type: string; path: string }
type Git = ChildProcessByStdio<Writable, Readable, Readable>

export class GitFault extends Error {}

/** One find for each token and path, at the first commit that had them: a file has many versions with the same key. */
export async function scanHistory(
  folder: string,
  search: Search,
  skip: Set<string>,
  tally: Tally,
): Promise<Committed[]> {
  if ((await ask(folder, ['rev-parse', '--is-shallow-repository'])).trim() === 'true')
    tally.say('This clone is shallow, so its early history is missing: "git fetch --unshallow" brings it.')
  const seen = await readObjects(folder, search, skip, tally)
  if (seen.length === 0) return []
  return firstOfEach(seen, await findCommits(folder, new Set(seen.map(({ object }) => object)), tally))
}

// ---- the bytes ------------------------------------------------------------------------------------------------------

async function readObjects(folder: string, search: Search, skip: Set<string>, tally: Tally): Promise<Seen[]> {
  const list = git(folder, ['rev-list', '--all', '--objects'])
  const sort = git(folder, ['cat-file', '--buffer', '--batch-check=%(objecttype) %(objectname) %(rest)'])
  const read = git(folder, ['cat-file', '--buffer', '--batch=%(objecttype) %(objectname) %(objectsize) %(rest)'])
  const seen: Seen[] = []
  await together(
    [list, sort, read],
    [
      pipeline(list.stdout, sort.stdin),
      pipeline(sort.stdout, (lines) => withoutTrees(lines, skip, tally), read.stdin),
      scanObjects(read.stdout, search, tally, seen),
    ],
  )
  return seen
}

async function* withoutTrees(stream: AsyncIterable<Buffer>, skip: Set<string>, tally: Tally): AsyncGenerator<Buffer> {
  for await (const lines of linesOf(stream)) {
    const wanted = lines.flatMap((line) => {
      const [type = '', object, ...words] = line.split(' ')
      if (object === 'missing') tally.couldNotRead(`object ${type}: it is missing from this clone`)
      if (object === 'missing' || type === 'tree') return []
      const path = words.join(' ')
      return skip.size > 0 &&
        utf8(path)
          .split('/')
          .some((name) => skip.has(name))
        ? []
        : [`${object} ${path}\n`]
    })
    if (wanted.length > 0) yield Buffer.from(wanted.join(''), 'latin1')
  }
}

/** Each object is a line with its type, id, size and path, then its bytes, then a line break. */
async function scanObjects(stream: AsyncIterable<Buffer>, search: Search, tally: Tally, seen: Seen[]): Promise<void> {
  let head = ''
  let object: { type: string; id: string; path: string } | null = null
  let left = 0
  for await (const piece of stream) {
    let at = 0
    while (at < piece.length) {
      if (!object) {
        const end = piece.indexOf(10, at)
        head += piece.toString('latin1', at, end < 0 ? piece.length : end)
        at = end < 0 ? piece.length : end + 1
        if (end < 0) break
        const [type = '', id = '', size = '', ...words] = head.split(' ')
        head = ''
        if (id === 'missing') continue
        object = { type, id, path: utf8(words.join(' ')) }
        left = Number(size)
        search.begin()
      }
      const bytes = piece.subarray(at, at + left)
      at += bytes.length
      left -= bytes.length
      const { type, id, path } = object
      for (const find of search.read(bytes, left > 0)) seen.push({ ...find, object: id, type, path })
      tally.readBytes(bytes.length)
      if (left > 0 || at === piece.length) continue
      at++ // the line break
      tally.readOne()
      object = null
    }
    await tally.turn()
  }
}

// ---- the commits ----------------------------------------------------------------------------------------------------

type Origin = { commit: string; path: string; order: number }

/** So many objects are looked for in one walk: they are named on the command line, which has its limits. */
const OBJECTS_PER_WALK = 1000

async function findCommits(folder: string, objects: Set<string>, tally: Tally): Promise<Map<string, Origin>> {
  const origins = new Map<string, Origin>()
  const all = [...objects]
  for (let i = 0; i < all.length; i += OBJECTS_PER_WALK)
    await walkCommits(folder, all.slice(i, i + OBJECTS_PER_WALK), origins, tally)
  return origins
}

/** From the first commit to the last, so that the first mention of an object is where it came in. */
async function walkCommits(folder: string, objects: string[], origins: Map<string, Origin>, tally: Tally) {
  const wanted = new Set(objects)
  const list = git(folder, ['rev-list', '--all', '--reverse', '--date-order'])
  const compare = git(folder, [
    ...['-c', 'core.quotePath=false', 'diff-tree', '--stdin', '-r', '-m', '--root', '--raw', '--no-renames'],
    ...['--no-abbrev', ...objects.map((object) => `--find-object=${object}`)],
  ])
  const read = async () => {
    let commit = ''
    for await (const lines of linesOf(compare.stdout)) {
      for (const line of lines) {
        if (!line.startsWith(':')) commit = line.split(' ')[0] as string
        const [, object, path] = /^:\d+ \d+ \w+ (\w+) \w+\t(.*)$/.exec(line) ?? []
        if (!object || !path || !wanted.has(object) || origins.has(object)) continue
        origins.set(object, { commit, path: utf8(path), order: origins.size })
      }
      await tally.turn()
    }
  }
  await together([list, compare], [pipeline(list.stdout, compare.stdin), read()])
}

function firstOfEach(seen: Seen[], origins: Map<string, Origin>): Committed[] {
  const chosen = new Map<string, string>()
  const named = seen.map(({ type, ...find }): Committed & { order: number } => {
    const origin = origins.get(find.object)
    if (origin) return { ...find, ...origin }
    const commit = type === 'commit' ? find.object : null
    return { ...find, commit, path: type === 'blob' ? find.path : `(${type} message)`, order: Number.MAX_SAFE_INTEGER }
  })
  return named
    .sort((a, b) => a.order - b.order)
    .filter(({ token, path, object }) => {
      const both = `${sha256(token.reveal(), 'base64')} ${path}`
      if (!chosen.has(both)) chosen.set(both, object)
      return chosen.get(both) === object
    })
    .map(({ order: _, ...find }) => find)
}

// ---- git ------------------------------------------------------------------------------------------------------------

/** In a hook git names the repository in these, which may be another than the one we were asked about. */
const OF_THE_HOOK = [
  ...['GIT_DIR', 'GIT_COMMON_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'],
  ...['GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES'],
]

function git(folder: string, args: string[]): Git {
  // What was committed, not what replaces it; and nothing is fetched.
  const env = { ...process.env, LC_ALL: 'C', GIT_NO_REPLACE_OBJECTS: '1', GIT_NO_LAZY_FETCH: '1' }
  for (const name of OF_THE_HOOK) delete (env as NodeJS.ProcessEnv)[name]
  return spawn('git', ['-C', folder, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
}

async function ask(folder: string, args: string[]): Promise<string> {
  const child = git(folder, args)
  let out = ''
  const read = async () => {
    for await (const piece of child.stdout) out += piece
  }
  await together([child], [read()])
  return out
}

/** Waits for the work and for its processes. When one of them fails, the others end too, and git's own words are told. */
async function together(children: Git[], work: Promise<unknown>[]): Promise<void> {
  const ends = children.map(ended)
  try {
    const results = await Promise.allSettled([...ends, ...work.map((one) => stopOnFailure(one, children))])
    const faults = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    // Where git said something, a broken pipe only follows from it; where it said nothing, it is the other way round.
    const first = faults.find((fault) => fault instanceof GitFault && fault.message !== '') ?? faults.at(-1)
    if (first) throw first
  } finally {
    for (const child of children) child.kill()
  }
}

async function stopOnFailure(work: Promise<unknown>, children: Git[]): Promise<void> {
  try {
    await work
  } catch (error) {
    for (const child of children) child.stdin.destroy()
    throw error
  }
}

function ended(child: Git): Promise<void> {
  let words = ''
  child.stderr.on('data', (piece) => {
    words = (words + piece).slice(-2000)
  })
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new GitFault('git is not installed') : error),
    )
    child.once('close', (code) => (code === 0 ? resolve() : reject(new GitFault(cause(words)))))
  })
}

/** Git says more, some of it before the sentence that matters and some after. */
function cause(words: string): string {
  return (/^fatal: (.+)$/m.exec(words)?.[1] ?? words.split('\n')[0] ?? '').trim()
}

async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest = ''
  for await (const piece of stream) {
    const lines = (rest + piece.toString('latin1')).split('\n')
    rest = lines.pop() as string
    yield lines
  }
  if (rest !== '') yield [rest]
}

/** Git's output is read byte by byte, because a path may be cut between two pieces. */
function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}
