// The server's files and its process: created once, launched, found, stopped.
// The number in `postmaster.pid` counts only while that process has our server's command line: after a crash the number
// may belong to any other process, and in a container that is restarted it usually does.
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { operatorCommand } from '../../core/invocation.ts'
import { exists, PLAIN_ENV, run } from './binaries.ts'
import { type Cluster, makePrivate, SOCKET_PORT } from './cluster.ts'

/** An operator may change these in postgresql.conf. Settings of durability keep PostgreSQL's defaults. */
const TUNING = {
  max_connections: '60',
  shared_buffers: '32MB',
  max_wal_size: '256MB',
  io_method: 'sync', // the default keeps three more processes, for reads of a database that is in memory anyway
  max_logical_replication_workers: '0',
  jit: 'off',
  timezone: 'UTC',
}

/** For whoever looks in beside the service: commands of the operator, a backup, a person with psql. */
const OTHER_CONNECTIONS = 20

/** These override that file: the server is reached by its socket alone, and no user's data gets into the log. */
const FIXED = {
  listen_addresses: '',
  port: String(SOCKET_PORT),
  unix_socket_permissions: '0700',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
}

/** Creates the database's files if there are none. They appear by rename: a killed start leaves no half of them behind. */
export async function createCluster(cluster: Cluster, superuser: string, say: (line: string) => void): Promise<void> {
  await removeLeftovers(cluster)
  if (await exists(cluster.pgdata)) return refuseOtherMajor(cluster)
  say(`Creating the database in ${cluster.dataDir} (first start only) …`)
  const half = `${cluster.pgdata}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  await makePrivate(half, cluster.user)
  try {
    await initialize(cluster, half, superuser)
    await rename(half, cluster.pgdata)
    await syncDirectory(cluster.dataDir)
  } catch (error) {
    await rm(half, { recursive: true, force: true })
    if (!(await exists(cluster.pgdata))) throw error // else another start was faster, and its files are as good
  }
}

/** PostgreSQL itself only says that the files are incompatible. */
async function refuseOtherMajor(cluster: Cluster): Promise<void> {
  const [theirs, ours] = await Promise.all([majorOfData(cluster), majorOfBinaries(cluster)])
  if (theirs === '' || ours === '' || theirs === ours) return
  const what =
    Number(theirs) < Number(ours)
      ? `upgrade it with "${operatorCommand('upgrade-database')}" (docs/backup.md)`
      : `use a version of Storekeeper that brings ${theirs}`
  throw new Error(
    `The database in ${cluster.dataDir} is of PostgreSQL ${theirs}, and this version of Storekeeper brings ${ours}: ${what}.`,
  )
}

/** Empty where there is no database. */
export async function majorOfData(cluster: Cluster): Promise<string> {
  return (await readFile(join(cluster.pgdata, 'PG_VERSION'), 'utf8').catch(() => '')).trim()
}

export async function majorOfBinaries(cluster: Cluster): Promise<string> {
  const { stdout } = await promisify(execFile)(join(cluster.bin, 'postgres'), ['--version'], { env: PLAIN_ENV })
  return /(\d+)(?:\.|beta|rc|devel)/.exec(stdout)?.[1] ?? ''
}

/** Order is by code point and the same everywhere; access is limited by the mode of the socket's directory. */
export async function initialize(cluster: Cluster, directory: string, superuser: string): Promise<void> {
  const text = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const tuning = Object.entries(TUNING).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  const args = [`--pgdata=${directory}`, `--username=${superuser}`, '--auth=trust', '--data-checksums', ...text]
  const failure = await run(join(cluster.bin, 'initdb'), [...args, ...tuning], cluster.user)
  if (failure) throw new Error(`The database in ${cluster.dataDir} could not be created: ${failure}`)
  const flag = constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW
  await writeFile(join(directory, 'pg_hba.conf'), 'local all all trust\nlocal replication all trust\n', { flag })
}

/** A server that is starting. */
export type Launch = {
  isUnderway(): boolean
  /** Why it ended, from its log. */
  failure(): Promise<string>
}

/** A service with many workers needs more connections than that file allows; with few, the file counts. */
function room({ connections = 0 }: Cluster): Record<string, string> {
  const needed = connections + OTHER_CONNECTIONS
  return needed > Number(TUNING.max_connections) ? { max_connections: String(needed) } : {}
}

/** In a session of its own, so that Ctrl-C at the terminal reaches the service alone. */
export async function launchServer(cluster: Cluster): Promise<Launch> {
  await dropStaleLocks(cluster)
  const log = await openLog(cluster)
  const { size } = await log.stat()
  const settings = {
    ...FIXED,
    ...room(cluster),
    unix_socket_directories: `"${cluster.socketDir.replaceAll('"', '""')}"`,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(join(cluster.bin, 'postgres'), ['-D', cluster.pgdata, ...args], {
    ...(cluster.user && { uid: cluster.user.uid, gid: cluster.user.gid }),
    cwd: '/',
    env: PLAIN_ENV,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  let hasEnded = false
  let refusal = ''
  server.on('exit', () => {
    hasEnded = true
  })
  server.on('error', (error) => {
    hasEnded = true
    refusal = error.message
  })
  server.unref()
  await log.close()
  return {
    isUnderway: () => !hasEnded,
    failure: async () => {
      const written = (await readFile(cluster.log)).subarray(size).toString().trim()
      const fatal = written.split('\n').filter((line) => line.includes('FATAL'))
      return refusal || fatal.join('; ') || written || `see ${cluster.log}`
    },
  }
}

type Running = { pid: number; status: 'starting' | 'stopping' | 'ready' }

/** The server, if its process can be seen. `movedTo`: where its files are, when they were moved since it was launched. */
export async function runningServer(cluster: Cluster, movedTo = cluster.pgdata): Promise<Running | undefined> {
  const lines = (await readLock(pidFile(movedTo))).split('\n')
  const pid = Number(lines[0])
  if (!(await isOurServer(cluster, pid))) return undefined
  const status = lines[7]?.trim()
  return { pid, status: status === 'ready' || status === 'stopping' ? status : 'starting' }
}

/**
 * A fast shutdown: connections are closed, everything is written. Only a server that hangs is killed; it loses nothing
 * either.
 */
export async function stopServer(cluster: Cluster): Promise<void> {
  const server = await runningServer(cluster)
  if (!server) return
  const steps = [
    { signal: 'SIGINT', patienceMs: 15_000 },
    { signal: 'SIGQUIT', patienceMs: 5_000 },
    { signal: 'SIGKILL', patienceMs: 2_000 },
  ] as const
  for (const { signal, patienceMs } of steps) {
    sendSignal(server.pid, signal)
    for (const until = Date.now() + patienceMs; Date.now() < until; await sleep(5))
      if (!(await isOurServer(cluster, server.pid))) return
  }
}

async function isOurServer(cluster: Cluster, pid: number): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 1) return false
  return (await readCommand(pid)).includes(`postgres -D ${cluster.pgdata} -c `)
}

/** Empty for a process that has ended, also for a zombie. */
async function readCommand(pid: number): Promise<string> {
  if (process.platform === 'linux')
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')
  const ps = promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
  return ps.then(({ stdout }) => stdout).catch(() => '')
}

/**
 * PostgreSQL itself replaces the lock files of a dead server, with two exceptions: their process number has gone to
 * another process of the same user, or the server was killed before it wrote its number. Were there a server after
 * all, its shared memory, found by the directory's inode, still keeps a second one out.
 */
async function dropStaleLocks(cluster: Cluster): Promise<void> {
  for (const path of [pidFile(cluster.pgdata), join(cluster.socketDir, `.s.PGSQL.${SOCKET_PORT}.lock`)]) {
    const pid = Number.parseInt(await readLock(path), 10)
    const isStale = pid ? isProcess(pid) && !(await isOurServer(cluster, pid)) : (await ageOf(path)) > WRITING_LOCK_MS
    if (isStale) await unlink(path).catch(() => {})
  }
}

/** Between making a lock file and writing the number into it, PostgreSQL needs microseconds. */
const WRITING_LOCK_MS = 1_000

function pidFile(pgdata: string): string {
  return join(pgdata, 'postmaster.pid')
}

async function readLock(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended already. One that may not be signalled goes on, which whoever waits for its end notices.
  }
}

/** Whether a process with this id runs, also one of another user, which may not be signalled. */
function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const MAX_LOG_BYTES = 10_000_000

/** One former log is kept. Links are not followed: the directory may be another user's than ours. */
async function openLog(cluster: Cluster): Promise<FileHandle> {
  const former = await stat(cluster.log).catch(() => undefined)
  if (former && former.size > MAX_LOG_BYTES) await rename(cluster.log, `${cluster.log}.1`)
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants
  const log = await open(cluster.log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  if (cluster.user) await log.chown(cluster.user.uid, cluster.user.gid)
  return log
}

const LEFTOVER_MS = 10 * 60_000

/** The half-made directories of first starts that were killed. */
async function removeLeftovers(cluster: Cluster): Promise<void> {
  for (const name of await readdir(cluster.dataDir)) {
    const pid = name.match(/^postgres\.new-(\d+)-/)?.[1]
    if (!pid) continue
    const path = join(cluster.dataDir, name)
    if (isProcess(Number(pid)) && (await ageOf(path)) < LEFTOVER_MS) continue
    // The initdb of a start killed this very moment may still be writing; then a later start succeeds in removing it.
    await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

/** In milliseconds since it was last changed; 0 for a file that is not there. */
async function ageOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  return found ? Date.now() - found.mtimeMs : 0
}

export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync().finally(() => handle.close())
}
