// What the checks of packages and images share: steps that say how long they took, programs that have to succeed, folders that
// are gone afterwards, and a service that was started in some way.

import { type ChildProcess, execFileSync, type SpawnOptions, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export const ROOT = join(import.meta.dirname, '../..')

/** Without the settings of the npm that runs the check, and of a service. */
export const PLAIN_ENV = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_.*|init_cwd|node_env|port|host|data_dir|.*_url)$/i.test(name)),
)

export async function step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  const began = performance.now()
  process.stdout.write(`${name} … `)
  try {
    const result = await work()
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`${typeof result === 'string' && result !== '' ? `${result}, ` : ''}${seconds} s`)
    return result
  } catch (error) {
    console.log('FAILED')
    throw error
  }
}

/** Ends the process with what to install, if a program is missing. */
export function needPrograms(packageOf: Record<string, string>): void {
  const missing = Object.keys(packageOf).filter((name) => spawnSync('which', [name]).status !== 0)
  if (missing.length === 0) return
  console.error(
    `Missing: ${missing.join(', ')}. On Debian: apt-get install ${missing.map((name) => packageOf[name]).join(' ')}`,
  )
  process.exit(2)
}

/** Open to everyone: PostgreSQL runs as another user when we are root. */
export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'storekeeper-check-'))
  chmodSync(folder, 0o755)
  const end = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  const onSignal = () => {
    end()
    process.exit(130)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)
  try {
    await work(folder)
  } finally {
    end()
    if (existsSync(folder)) console.error(`${folder} could not be removed.`)
  }
}

/** What the program has printed. An error says what it has said. */
export function run(program: string, args: string[], options: SpawnOptions = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    env: PLAIN_ENV,
    maxBuffer: 1e8,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
    encoding: 'utf8',
  })
  if (status === 0) return String(stdout)
  throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `status ${status}`}\n${stdout}${stderr}`)
}

/** The committed state in a folder of its own, with its dependencies: fetched as the lock file says, or those that are here. */
export function cloneInto(folder: string, dependencies: 'fetched' | 'copied'): void {
  run('git', ['clone', '--quiet', '--no-local', '--depth=1', `file://${ROOT}`, folder])
  if (dependencies === 'copied') run('cp', ['-a', join(ROOT, 'node_modules'), folder])
  else run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder })
}

export function expectEqual(what: string, found: unknown, wanted: unknown): void {
  const [is, should] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (is !== should) throw new Error(`${what} is ${is} instead of ${should}.`)
}

/** The address at which a service that was just started listens. */
export async function listening(child: ChildProcess): Promise<string> {
  let said = ''
  child.stderr?.on('data', (part) => {
    said += part
  })
  try {
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const { msg, url } = JSON.parse(line)
      if (msg === 'listening') return url
    }
  } finally {
    child.stdout?.resume()
  }
  throw new Error(`The service did not start: ${said}`)
}

export function ended(child: ChildProcess): Promise<number | string | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode ?? child.signalCode)
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
}

/** The process below this one whose command line has the words. */
export function processBelow(pid: number, words: string): { pid: number; command: string } {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n')
  const all = rows.map((row) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(row) ?? [])
  const below = (parent: number): string[][] =>
    all.filter(([, , ppid]) => Number(ppid) === parent).flatMap((row) => [row, ...below(Number(row[1]))])
  const found = [...all.filter((row) => Number(row[1]) === pid), ...below(pid)].findLast(([, , , args]) =>
    args?.includes(words),
  )
  if (!found) throw new Error(`There is no process with "${words}" below ${pid}.`)
  return { pid: Number(found[1]), command: found[3] ?? '' }
}
