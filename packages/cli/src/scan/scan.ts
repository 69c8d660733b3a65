// Looks for our tokens where they should not be: in files, on stdin, in the history of a git repository. It asks no
// database and no service, so it tells which texts look like our tokens and have a right checksum, not which still work.
// The exit code is 0 for nothing found, 1 for found, 2 for a scan that could not be done.

import { realpathSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import { callerPath, type Io, OutputError } from '../../../../src/cli/io.ts'
import { plain } from '../../../../src/cli/plain.ts'
import { helpRows, usageErrors } from '../../../../src/cli/program.ts'
import { readKeyPrefix } from '../config.ts'
import { reason, type ScanTarget, scanStream, scanTarget } from './files.ts'
import { GitError, scanHistory } from './history.ts'
import { newProgress, type Progress } from './progress.ts'
import { type Finding, Search } from './search.ts'

/** The message is one sentence, with the way out. */
class ScanError extends Error {
  readonly exitCode = 2
}

type Options = { history?: boolean; skip?: string[]; json?: boolean }

export function addScan(program: Command, io: Io, onFound: () => void): void {
  const command = program.command('scan')
  command
    .description('find keys and tokens in files or, with --history, in a git repository')
    .configureHelp({ formatHelp: () => helpOf(command) })
    .exitOverride(usageErrors(usageError))
    .argument('[path...]')
    .option('--history', 'read the history of the git repository at each path instead: all branches and tags')
    .option(
      '--skip <name>',
      'leave out files and folders of this name, such as node_modules; may be given again',
      addTo,
    )
    .option('--json', 'print a line of JSON for each find')
    .helpOption('-h, --help', 'print this')
    .action(async (paths: string[], options: Options) => {
      if (paths.length === 0) throw usageError('Say what to scan: a file, a folder, or "-".')
      if (await scanAll(paths, options, io)) onFound()
    })

  function usageError(fault: string): ScanError {
    return new ScanError(`${fault}\n\n${helpOf(command)}`)
  }
}

const addTo = (name: string, before: string[] = []) => [...before, name]

function helpOf(command: Command): string {
  const options = command.createHelp().visibleOptions(command)
  const rows = options.map(({ long, flags, description }): [string, string] => {
    const value = /<.*>/.exec(flags)?.[0] ?? ''
    return [`${long} ${value}`.trim(), description]
  })
  return `Usage: skp scan [options] <path…>

Finds keys, session tokens, service tokens and invitations with a right checksum. A path is a file or a folder, with
everything in it but folders named .git; "-" is what is piped in. Keys that were imported have another form, and are not
found.

${helpRows(rows)}

Prints "path:line:column  kind  start…" for each find, never the whole token. Exit code: 0 nothing found, 1 found,
2 it could not be done. The setting KEY_PREFIX says what your tokens begin with.`
}

/** Whether a token was found. */
async function scanAll(paths: string[], options: Options, io: Io): Promise<boolean> {
  try {
    checkOptions(paths, options)
    const search = new Search(readKeyPrefix(io.env))
    const targets = paths.map((path) => (path === '-' ? null : findTarget(path, io)))
    const progress = newProgress(io.stderr, options.history ? 'object' : 'file')
    const report = (where: Where, finding: Finding) => {
      progress.clear()
      progress.foundOne()
      io.print(options.json ? asJson(where, finding) : asLine(where, finding))
    }
    const skip = new Set(options.skip)
    for (const target of targets) {
      if (target === null) await scanStream(io.stdin, search, progress, (finding) => report({ path: '-' }, finding))
      else if (options.history) await scanRepository(target, search, skip, progress, report, io)
      else await scanFiles(target, search, skip, progress, report)
    }
    progress.summary()
    return progress.foundAny()
  } catch (error) {
    throw error instanceof OutputError ? error : new ScanError((error as Error).message)
  }
}

function checkOptions(paths: string[], { history, skip }: Options): void {
  if (history && paths.includes('-'))
    throw new ScanError('--history reads a git repository, so name its folder instead of "-".')
  const path = skip?.find((name) => name.includes('/'))
  if (path) throw new ScanError(`--skip takes the name of a file or folder, not a path such as "${path}".`)
}

type Where = { path: string; commit?: string | null; object?: string }
type Report = (where: Where, finding: Finding) => void

async function scanFiles(
  target: ScanTarget,
  search: Search,
  skip: Set<string>,
  progress: Progress,
  report: Report,
): Promise<void> {
  try {
    const skipGit = new Set([...skip, '.git'])
    await scanTarget(target, search, skipGit, progress, (path, finding) => report({ path }, finding))
  } catch (error) {
    progress.clear()
    if (error instanceof OutputError) throw error
    throw new ScanError(
      `Cannot read ${target.given}: ${reason(error)}. Run the scan as a user who may read it, or leave it out.`,
    )
  }
}

async function scanRepository(
  target: ScanTarget,
  search: Search,
  skip: Set<string>,
  progress: Progress,
  report: Report,
  { env }: Io,
): Promise<void> {
  if (!target.stats.isDirectory())
    throw new ScanError(`${target.given} is no folder: --history takes the folder of a git repository.`)
  try {
    const findings = await scanHistory({ folder: target.real, env }, search, skip, progress)
    for (const { commit, object, path, ...finding } of findings) report({ commit, object, path }, finding)
  } catch (error) {
    progress.clear()
    if (!(error instanceof GitError)) throw error
    if (error.message === 'git is not installed')
      throw new ScanError('--history needs git, which was not found: install it, or add its folder to PATH.')
    throw new ScanError(
      `Git cannot read the history at ${target.given} (${error.message}): name the folder of a whole clone that is yours.`,
    )
  }
}

function findTarget(given: string, io: Io): ScanTarget {
  try {
    const path = callerPath(io, given)
    const stats = statSync(path)
    // A pipe such as the shell's <(command) is a link to something that has no path.
    return { given, real: stats.isFile() || stats.isDirectory() ? realpathSync(path) : path, stats }
  } catch (error) {
    throw new ScanError(`Cannot read ${given}: ${reason(error)}. Name a file or a folder that you may read.`)
  }
}

function asLine({ path, commit, object }: Where, { line, column, kind, start }: Finding): string {
  const origin = object ? `${(commit ?? object).slice(0, 12)}:` : ''
  return `${origin}${plain(path)}:${line}:${column}  ${kind}  ${start}…`
}

function asJson({ path, commit, object }: Where, { line, column, kind, start }: Finding): string {
  return JSON.stringify({ path, line, column, kind, start, ...(object ? { commit, object } : {}) })
}
