// The service as a process: launched as a user launches it, in folders of its own that are gone after each test, or after the
// file's last one.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { build as runBuild } from '../bin/build.js'
import { copyData } from './prepared-data.ts'
import { listProcesses, serverProcesses } from './processes.ts'

export const LONG = 300_000

const repository = join(import.meta.dirname, '..')
type Launched = { folders: string[]; children: ChildProcess[] }
const ofTest: Launched = { folders: [], children: [] }
const ofFile: Launched = { folders: [], children: [] }
let built = ''

/**
 * Where the tests of a file run from: with the repository's build, or without that of the client, which the first start
 * makes.
 */
export function runFromCheckout({ build }: { build: 'whole' | 'in part' }): void {
  beforeAll(() => {
    runBuild()
    built = copyOf([...COMMANDS, ...BUILDS, ...(build === 'whole' ? [] : CLIENT)])
    if (build === 'in part') rmSync(join(built, 'dist/builds/client'))
    keepForFile()
  })
}

export function builtCheckout(): string {
  return built
}

/** What was launched so far, and its folders, are there for the other tests of the file too. */
export function keepForFile(): void {
  ofFile.folders.push(...ofTest.folders.splice(0))
  ofFile.children.push(...ofTest.children.splice(0))
}

afterEach(() => remove(ofTest))
afterAll(() => remove(ofFile))

async function remove({ folders, children }: Launched): Promise<void> {
  for (const child of children.splice(0)) if (child.pid && child.exitCode === null) killFamily(child.pid)
  for (const path of folders.splice(0)) {
    for (const pid of serverProcesses(path)) kill(pid)
    await until(async () => serverProcesses(path).length === 0)
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Open to everyone, as a checkout usually is: PostgreSQL runs as another user when we are root. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'process-'))
  chmodSync(path, 0o755)
  ofTest.folders.push(path)
  return path
}

const COMMANDS = ['bin', 'migrations', 'package.json']
const BUILDS = ['dist', ...packageFiles('client', 'dist'), ...packageFiles('cli', 'bin', 'dist')]
/** What it is built from. What has no sources is not built: tests/build.test.ts builds all, of small sources. */
const CLIENT = ['tsconfig.json', ...packageFiles('client', 'src', 'tsconfig.build.json')]

function packageFiles(name: string, ...files: string[]): string[] {
  return [...files, 'package.json'].map((file) => join('packages', name, file))
}

function copyOf(paths: string[]): string {
  const path = folder()
  for (const name of paths)
    cpSync(join(repository, name), join(path, name), {
      recursive: true,
      preserveTimestamps: true,
      filter: (file) => !file.endsWith('.test.ts'),
    })
  symlinkSync(join(repository, 'node_modules'), join(path, 'node_modules'))
  return path
}

/** A data directory with a migrated database in it that nothing else has been done with. */
export function preparedData(): string {
  const data = join(folder(), 'data')
  copyData('migrated', data)
  return data
}

type Options = {
  /** As a user does it, or straight by node. */
  npm?: boolean | 'quickstart'
  /** The operator's command, instead of the service. */
  command?: string[]
  from?: string
  data?: string
  env?: Record<string, string>
}

export function launch({ npm = false, command, from = built, data = join(folder(), 'data'), env = {} }: Options = {}) {
  const script = command ? ['bin/storekeeper.js', ...command] : ['bin/start.js']
  const words = npm === 'quickstart' ? ['quickstart'] : command ? ['storekeeper', '--', ...command] : ['start']
  const [program, args] = npm ? ['npm', ['run', '--silent', ...words]] : [process.execPath, script]
  const child = spawn(program as string, args as string[], {
    cwd: from,
    env: {
      PATH: process.env.PATH,
      HOME: from,
      DATA_DIR: data,
      PORT: '0',
      RATE_LIMIT: 'off',
      MAX_KEYS_PER_STORE: '1000000',
      MAX_ADDRESSES_PER_USER: '1000000',
      npm_config_update_notifier: 'false',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a process group of its own, as a shell gives it
  })
  ofTest.children.push(child)
  let out = ''
  let err = ''
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  child.stderr?.on('data', (chunk) => {
    err += chunk
  })
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal })),
  )
  const pid = child.pid as number
  return {
    pid,
    data,
    out: () => out,
    err: () => err,
    /** Its log, parsed: a line that is not JSON fails the test. */
    lines: () =>
      out
        .trim()
        .split('\n')
        .map((line): Record<string, unknown> => JSON.parse(line)),
    signal: (signal: NodeJS.Signals) => void process.kill(pid, signal),
    signalGroup: (signal: NodeJS.Signals) => void process.kill(-pid, signal),
    ended: () => ended,
    child,
  }
}

export type Started = ReturnType<typeof launch> & { url: string }

/** Started and ready; on a prepared data directory, unless one is named. */
export async function start({ data, ...options }: Options = {}): Promise<Started> {
  const service = launch({ ...options, data: data ?? preparedData() })
  for await (const line of createInterface(service.child.stdout as NodeJS.ReadableStream)) {
    const said = JSON.parse(line)
    if (said.msg !== 'listening') continue
    return { ...service, url: said.url }
  }
  throw new Error(`It did not start: ${service.err()}`)
}

export async function until(condition: () => Promise<boolean>, patienceMs = 60_000): Promise<void> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(50)) if (await condition()) return
  throw new Error('It did not happen.')
}

export function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Whether the database was stopped in order, in its own words. */
export function wasShutDown(data: string): boolean {
  return readFileSync(join(data, 'postgres.log'), 'utf8').trim().endsWith('database system is shut down')
}

/** Below the process, its children and theirs. Not PostgreSQL, which has a life of its own. */
export function familyOf(pid: number): number[] {
  const all = listProcesses()
  const below = (parent: number): number[] =>
    all
      .filter((each) => each.parent === parent && !each.command.includes('/postgres -D'))
      .flatMap((each) => [each.pid, ...below(each.pid)])
  return below(pid)
}

function killFamily(pid: number): void {
  for (const each of [pid, ...familyOf(pid)]) kill(each)
}

export function kill(pid: number): void {
  if (!(pid > 1)) throw new Error(`${pid} is nobody to kill.`)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

/** One that serves the service's own connections. */
export function backendOf(server: number): number {
  const backends = listProcesses().filter(({ parent }) => parent === server)
  return backends.find(({ command }) => /storekeeper storekeeper .*(idle|INSERT|SELECT|BIND|COMMIT)/.test(command))
    ?.pid as number
}
