// Reads files and trees, piece by piece, through one buffer. The calls are the synchronous ones: for many small files
// they cost a third of the others, and nothing else waits in this process.

import { closeSync, constants, createReadStream, openSync, readdirSync, readSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { OutputError } from '../../../../src/cli/io.ts'
import type { Progress } from './progress.ts'
import type { Finding, Search } from './search.ts'

export type ScanTarget = {
  /** As it was given, for the output. */
  given: string
  /** Where it is; for a file or folder with no symbolic link in it. */
  real: string
  stats: Stats
}

type OnFound = (path: string, finding: Finding) => void

/** Links are not followed, and a pipe that took a file's place since is not waited for. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
/** Stays within the processor's cache. Twice as much is no faster. */
const PIECE_BYTES = 1024 * 1024
const SLASH = Buffer.from('/')

export async function scanTarget(
  target: ScanTarget,
  search: Search,
  skip: Set<string>,
  progress: Progress,
  onFound: OnFound,
) {
  if (target.stats.isDirectory()) return scanTree(target, search, skip, progress, onFound)
  if (target.stats.isFile())
    return readFile(Buffer.from(target.real), search, progress, (finding) => onFound(target.given, finding))
  // A pipe or a device, such as the shell's <(command).
  return scanStream(createReadStream(target.real), search, progress, (finding) => onFound(target.given, finding))
}

export async function scanStream(
  stream: AsyncIterable<Buffer>,
  search: Search,
  progress: Progress,
  onFound: (finding: Finding) => void,
): Promise<void> {
  search.begin()
  for await (const piece of stream) {
    for (const finding of search.read(piece, true)) onFound(finding)
    progress.readBytes(piece.length)
    await progress.turn()
  }
  progress.readOne()
}

/**
 * No symbolic link in a tree is followed: its target is either in the same tree, and read there, or was not asked for.
 * Names are bytes, because on some systems they need not be UTF-8.
 */
async function scanTree(
  { given, real }: ScanTarget,
  search: Search,
  skip: Set<string>,
  progress: Progress,
  onFound: OnFound,
) {
  const top: Buffer = Buffer.from(real)
  const shown = (path: Buffer) => join(given, path.toString().slice(real.length))
  const folders = [top]
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    const inside: Buffer[] = []
    for (const entry of listFolder(folder, top, progress, shown)) {
      if (skip.has(entry.name.toString()) || (!entry.isDirectory() && !entry.isFile())) continue
      const path = Buffer.concat([folder, SLASH, entry.name])
      if (entry.isDirectory()) inside.push(path)
      else
        await readFile(path, search, progress, (finding) => onFound(shown(path), finding)).catch((error) => {
          if (error instanceof OutputError) throw error
          progress.couldNotRead(`${shown(path)}: ${reason(error)}`)
        })
    }
    folders.push(...inside.reverse())
  }
}

function listFolder(folder: Buffer, top: Buffer, progress: Progress, shown: (path: Buffer) => string) {
  try {
    const entries = readdirSync(folder, { withFileTypes: true, encoding: 'buffer' })
    return entries.sort((a, b) => Buffer.compare(a.name, b.name))
  } catch (error) {
    if (folder === top) throw error
    progress.couldNotRead(`${shown(folder)}: ${reason(error)}`)
    return []
  }
}

const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES)

async function readFile(
  path: Buffer,
  search: Search,
  progress: Progress,
  onFound: (finding: Finding) => void,
): Promise<void> {
  const file = openSync(path, FLAGS)
  try {
    search.begin((from, to, count) => readAgain(file, from, to, count))
    let more = true
    while (more) {
      const length = fill(file)
      more = length === buffer.length
      for (const finding of search.read(buffer.subarray(0, length), more)) onFound(finding)
      progress.readBytes(length)
      const turn = progress.turn()
      if (turn) await turn
    }
    progress.readOne()
  } finally {
    closeSync(file)
  }
}

/** Reads until the buffer is full or the file ends: a single read may bring less. */
function fill(file: number): number {
  let length = 0
  for (let got = -1; got !== 0 && length < buffer.length; length += got)
    got = readSync(file, buffer, length, buffer.length - length, null)
  return length
}

/** Through a buffer of its own: the other still holds the token that was found. What a file has lost since counts as zeros. */
function readAgain(file: number, from: number, to: number, count: (bytes: Buffer) => void): void {
  const bytes = Buffer.alloc(Math.min(PIECE_BYTES, to - from))
  for (let at = from; at < to; at += bytes.length) {
    const length = Math.min(bytes.length, to - at)
    if (readSync(file, bytes, 0, length, at) < length) bytes.fill(0)
    count(bytes.subarray(0, length))
  }
}

/** What a system error means to a person. */
export function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'no permission'
    case 'ENOENT':
      return 'it is not there'
    case 'ELOOP':
      return 'its symbolic links lead in a circle'
    default:
      return message.split(',')[0] as string
  }
}
