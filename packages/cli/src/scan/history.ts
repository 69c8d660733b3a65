// Reads everything that was ever committed: each version of each file once, and the messages of commits and tags. Git
// does the reading, and its output is scanned as it streams:
//
//   rev-list: every object the refs lead to, with a path → cat-file: which are trees; they are left out
//     → cat-file: the bytes of the others
//
// A second walk, only after a finding, tells the first commit that held it.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { devNull } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Io } from '../../../../src/cli/io.ts'
import type { Progress } from './progress.ts'
import type { Finding, Search } from './search.ts'

/** The commit is null for an object that is in no commit: a ref may point to a file or a tag. */
export type Committed = Finding & { commit: string | null; object: string; path: string }

type Seen = Finding & { object: string; type: string; path: string }
/** Where git is called, and with which environment. */
type Repository = { folder: string; env: Io['env'] }
type Git = ChildProcessByStdio<Writable, Readable, Readable>

export class GitError extends Error {}

/** One finding for each token and path, at the first commit that had both: a file has many versions with the same key. */
export async function scanHistory(
  repository: Repository,
  search: Search,
  skip: Set<string>,
  progress: Progress,
): Promise<Committed[]> {
  if ((await ask(repository, ['rev-parse', '--is-shallow-repository'])).trim() === 'true')
    progress.say('This clone is shallow, so its early history is missing. Run "git fetch --unshallow" to get it.')
  const seen = await readObjects(repository, search, skip, progress)
  if (seen.length === 0) return []
  return firstOfEach(seen, await findCommits(repository, new Set(seen.map(({ object }) => object)), progress))
}

// ---- the bytes ------------------------------------------------------------------------------------------------------

async function readObjects(
  repository: Repository,
  search: Search,
  skip: Set<string>,
  progress: Progress,
): Promise<Seen[]> {
  const list = git(repository, ['rev-list', '--all', '--objects'])
  const sort = git(repository, ['cat-file', '--buffer', '--batch-check=%(objecttype) %(objectname) %(rest)'])
  const read = git(repository, ['cat-file', '--buffer', '--batch=%(objecttype) %(objectname) %(objectsize) %(rest)'])
  const seen: Seen[] = []
  await waitForAll(
    [list, sort, read],
    [
      pipeline(list.stdout, sort.stdin),
      pipeline(sort.stdout, (lines) => withoutTrees(lines, skip, progress), read.stdin),
      scanObjects(read.stdout, search, progress, seen),
    ],
  )
  return seen
}

async function* withoutTrees(
  stream: AsyncIterable<Buffer>,
  skip: Set<string>,
  progress: Progress,
): AsyncGenerator<Buffer> {
  for await (const lines of linesOf(stream)) {
    const wanted = lines.flatMap((line) => {
      const [type = '', object, ...words] = line.split(' ')
      if (object === 'missing') progress.couldNotRead(`object ${type}: it is missing from this clone`)
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
async function scanObjects(
  stream: AsyncIterable<Buffer>,
  search: Search,
  progress: Progress,
  seen: Seen[],
): Promise<void> {
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
      for (const finding of search.read(bytes, left > 0)) seen.push({ ...finding, object: id, type, path })
      progress.readBytes(bytes.length)
      if (left > 0 || at === piece.length) continue
      at++ // the line break
      progress.readOne()
      object = null
    }
    await progress.turn()
  }
}

// ---- the commits ----------------------------------------------------------------------------------------------------

type FirstCommit = { commit: string; path: string; order: number }

/** How many objects one walk looks for: they are named on the command line of git, whose length is limited. */
const OBJECTS_PER_WALK = 1000

async function findCommits(
  repository: Repository,
  objects: Set<string>,
  progress: Progress,
): Promise<Map<string, FirstCommit>> {
  const origins = new Map<string, FirstCommit>()
  const all = [...objects]
  for (let i = 0; i < all.length; i += OBJECTS_PER_WALK)
    await walkCommits(repository, all.slice(i, i + OBJECTS_PER_WALK), origins, progress)
  return origins
}

/** From the first commit to the last, so that the first mention of an object is where it came in. */
async function walkCommits(
  repository: Repository,
  objects: string[],
  origins: Map<string, FirstCommit>,
  progress: Progress,
) {
  const wanted = new Set(objects)
  const list = git(repository, ['rev-list', '--all', '--reverse', '--date-order'])
  const compare = git(repository, [
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
      await progress.turn()
    }
  }
  await waitForAll([list, compare], [pipeline(list.stdout, compare.stdin), read()])
}

function firstOfEach(seen: Seen[], origins: Map<string, FirstCommit>): Committed[] {
  const chosen = new Map<string, string>()
  const named = seen.map(({ type, ...finding }): Committed & { order: number } => {
    const origin = origins.get(finding.object)
    if (origin) return { ...finding, ...origin }
    const commit = type === 'commit' ? finding.object : null
    return {
      ...finding,
      commit,
      path: type === 'blob' ? finding.path : `(${type} message)`,
      order: Number.MAX_SAFE_INTEGER,
    }
  })
  return named
    .sort((a, b) => a.order - b.order)
    .filter(({ token, path, object }) => {
      const both = `${hash('sha256', token.reveal(), 'base64')} ${path}`
      if (!chosen.has(both)) chosen.set(both, object)
      return chosen.get(both) === object
    })
    .map(({ order: _, ...finding }) => finding)
}

// ---- git ------------------------------------------------------------------------------------------------------------

/** In a hook git names its own repository in these variables; the scan may have been asked about another one. */
const HOOK_VARIABLES = [
  ...['GIT_DIR', 'GIT_COMMON_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'],
  ...['GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES'],
]

/** What a repository's own settings could have git run or fetch: whoever wrote them may be the one who is looked into. */
const RUN_NOTHING = ['core.fsmonitor=false', `core.hooksPath=${devNull}`]

function git({ folder, env: given }: Repository, args: string[]): Git {
  const env: Io['env'] = {
    ...given,
    LC_ALL: 'C',
    // Objects are read as they were committed, not as `git replace` shows them.
    GIT_NO_REPLACE_OBJECTS: '1',
    // None is fetched from elsewhere: git before 2.45 only knows the second, a list of the allowed ways.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
  }
  for (const name of HOOK_VARIABLES) delete env[name]
  const settings = RUN_NOTHING.flatMap((setting) => ['-c', setting])
  return spawn('git', [...settings, '-C', folder, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
}

async function ask(repository: Repository, args: string[]): Promise<string> {
  const child = git(repository, args)
  let out = ''
  const read = async () => {
    for await (const piece of child.stdout) out += piece
  }
  await waitForAll([child], [read()])
  return out
}

/** Waits for the work and for its processes. When one fails, the others are ended too, and git's own message is thrown. */
async function waitForAll(children: Git[], work: Promise<unknown>[]): Promise<void> {
  const ends = children.map(ended)
  try {
    const results = await Promise.allSettled([...ends, ...work.map((one) => stopOnFailure(one, children))])
    const faults = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    // A message of git is the cause, and a broken pipe only follows from it. Without a message the pipe is the cause.
    const first = faults.find((fault) => fault instanceof GitError && fault.message !== '') ?? faults.at(-1)
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
      reject(error.code === 'ENOENT' ? new GitError('git is not installed') : error),
    )
    child.once('close', (code) => (code === 0 ? resolve() : reject(new GitError(cause(words)))))
  })
}

/** The line of git's message that names the cause: others stand before it and after it. */
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
