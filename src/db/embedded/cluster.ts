// The user who runs PostgreSQL, and the directory of its data. For an ordinary user: that user, in the data directory.
// PostgreSQL refuses root. Started by root it runs as an unprivileged user that is already there, and the data directory
// becomes that user's; where it cannot enter the folder (a clone under /root), the data lives in /var/lib/storekeeper.
// An existing database decides both, so that a later start always finds it again.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, readFile, realpath, rename, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import {
  exists,
  findBinaries,
  findInstallation,
  type Installation,
  NoEmbeddedPostgres,
  run,
  type SystemUser,
} from './binaries.ts'

export type Cluster = {
  dataDir: string
  pgdata: string
  socketDir: string
  log: string
  /** The directory of `initdb` and `postgres`. */
  bin: string
  /** The user to run PostgreSQL as, when this process is root's. */
  user: SystemUser | undefined
  /** That the service has, when it has said so. */
  connections?: number
}

/** Only a name: there is no TCP port, but PostgreSQL calls its socket `.s.PGSQL.<port>`. */
export const SOCKET_PORT = 5432

export async function locateCluster(
  asked: string,
  say: (line: string) => void,
  installation: Installation,
): Promise<Cluster> {
  const location = isRoot() ? await locateForRoot(asked, say, installation) : await locateForUser(asked)
  const { dataDir, user } = location
  const bin = await binariesFor(location, installation, installation.packageRoot)
  const socketDir = await makeSocketDir(dataDir, 'socket', user)
  return { dataDir, pgdata: pgdataIn(dataDir), socketDir, log: join(dataDir, 'postgres.log'), bin, user }
}

/** The directory of the binaries of a package, for a cluster. */
export function binariesFor(
  { dataDir, user }: Pick<Cluster, 'dataDir' | 'user'>,
  { rootDataHome }: Installation,
  packageRoot: string,
): Promise<string> {
  return findBinaries(packageRoot, user, async () => (isRoot() ? ensureRootOwned(rootDataHome) : dataDir))
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

function pgdataIn(dataDir: string): string {
  return join(dataDir, 'postgres')
}

/** Where an upgrade puts the complete new database before it takes the place of the old one (upgrade.ts). */
export function upgradedIn(dataDir: string): string {
  return join(dataDir, 'postgres.upgraded')
}

/** An upgrade that was killed between its last two steps has moved the old database away and not yet moved the new one here. */
export async function completeSwitch(dataDir: string): Promise<void> {
  const [pgdata, upgraded] = [pgdataIn(dataDir), upgradedIn(dataDir)]
  if ((await exists(pgdata)) || !(await exists(upgraded))) return
  await rename(upgraded, pgdata).catch(async (error) => {
    if (!(await exists(pgdata))) throw error // else another process was faster
  })
}

/** Whether a start with this directory would find a database. Nothing is created. */
export async function hasEmbedded(asked: string, installation = findInstallation()): Promise<boolean> {
  const dataDir = await realDataDir(asked)
  const isIn = async (directory: string) =>
    (await mayExist(join(pgdataIn(directory), 'PG_VERSION'))) || mayExist(join(upgradedIn(directory), 'PG_VERSION'))
  return (await isIn(dataDir)) || (isRoot() && isIn(fallbackDir(dataDir, installation)))
}

/** Creates a directory of mode 0700, or checks the owner of an existing one: in /tmp anyone could have been first. */
export async function makePrivate(directory: string, user: SystemUser | undefined): Promise<void> {
  await mkdir(directory, { mode: 0o700 }).catch((error) => {
    if (error.code !== 'EEXIST') throw error
  })
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  // Through one handle, so that the directory that is changed is the one that was checked.
  const handle = await open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => undefined)
  try {
    const owner = (await handle?.stat())?.uid
    if (!handle || (owner !== process.getuid?.() && owner !== user?.uid))
      throw new Error(`${directory} is somebody else's; set DATA_DIR to another place.`)
    await handle.chmod(0o700)
    if (user) await handle.chown(user.uid, user.gid)
  } finally {
    await handle?.close()
  }
}

type Location = { dataDir: string; user: SystemUser | undefined }

async function locateForUser(asked: string): Promise<Location> {
  try {
    await mkdir(resolve(asked), { recursive: true, mode: 0o700 })
    const dataDir = await realpath(asked)
    const isMine = (await stat(dataDir)).uid === process.getuid?.()
    if ((await isEmpty(dataDir)) && isMine) await chmod(dataDir, 0o700)
    await completeSwitch(dataDir)
    return { dataDir, user: undefined }
  } catch (error) {
    const isForbidden = error instanceof Error && 'code' in error && error.code === 'EACCES'
    throw isForbidden ? new Error(`This user has no access to ${asked}. Start as its owner, or set DATA_DIR.`) : error
  }
}

async function locateForRoot(
  asked: string,
  say: (line: string) => void,
  installation: Installation,
): Promise<Location> {
  await mkdir(dirname(resolve(asked)), { recursive: true })
  const dataDir = await realDataDir(asked)
  const fallback = fallbackDir(dataDir, installation)

  await completeSwitch(dataDir)
  await completeSwitch(fallback)
  const owner = await findOwner(pgdataIn(dataDir))
  if (owner) {
    if (await canEnter(owner, dataDir)) return { dataDir, user: owner }
    throw new Error(`The database in ${dataDir} is user ${owner.name}'s, who no longer has access to that directory.`)
  }
  const fallbackOwner = await findOwner(pgdataIn(fallback))
  const user = fallbackOwner ?? (await findUnprivilegedUser())
  // An empty directory may be given to the user; one with other files in it stays as it is.
  const isFresh = await isEmpty(dataDir)
  if (!fallbackOwner && (await canEnter(user, isFresh ? dirname(dataDir) : dataDir))) {
    if (isFresh) await makePrivate(dataDir, user)
    return { dataDir, user }
  }
  say(`PostgreSQL runs as user ${user.name}, who has no access to ${dirname(dataDir)}, so the data is in ${fallback}.`)
  await ensureRootOwned(installation.rootDataHome)
  await makePrivate(fallback, user)
  return { dataDir: fallback, user }
}

/** Without symbolic links, also where the directory does not exist yet. */
async function realDataDir(asked: string): Promise<string> {
  const path = resolve(asked)
  const parent = await realpath(dirname(path)).catch(() => dirname(path))
  return realpath(path).catch(() => join(parent, basename(path)))
}

function fallbackDir(dataDir: string, installation: Installation): string {
  return join(installation.rootDataHome, shortHash(dataDir))
}

/** The owner of an existing database. */
async function findOwner(pgdata: string): Promise<SystemUser | undefined> {
  const found = await stat(join(pgdata, 'PG_VERSION')).catch(() => undefined)
  if (!found) return undefined
  if (found.uid === 0) {
    const { name } = await findUnprivilegedUser()
    throw new Error(`PostgreSQL does not run as root: give the database to a user (chown -R ${name} ${pgdata}).`)
  }
  const account = (await readAccounts()).find(({ uid }) => uid === found.uid)
  return { uid: found.uid, gid: found.gid, name: account?.name ?? String(found.uid) }
}

async function findUnprivilegedUser(): Promise<SystemUser> {
  const accounts = await readAccounts()
  const names = ['postgres', '_postgres', 'nobody']
  const user = names.map((each) => accounts.find(({ name }) => name === each)).find((account) => account)
  if (!user) throw new NoEmbeddedPostgres('PostgreSQL does not run as root, and there is no user postgres or nobody')
  if (!(await canEnter(user, '/')))
    throw new NoEmbeddedPostgres(`PostgreSQL does not run as root, and root may not become ${user.name} here`)
  return user
}

async function readAccounts(): Promise<SystemUser[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return { name, uid: Number(uid), gid: Number(gid) }
  })
}

/** Asks the kernel by trying: file modes alone do not tell. */
async function canEnter(user: SystemUser, directory: string): Promise<boolean> {
  return !(await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], user))
}

/** sockaddr_un.sun_path without its final zero byte */
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107

export async function makeSocketDir(dataDir: string, name: string, user: SystemUser | undefined): Promise<string> {
  const beside = join(dataDir, name)
  const isShort = Buffer.byteLength(join(beside, `.s.PGSQL.${SOCKET_PORT}`)) <= MAX_SOCKET_PATH_BYTES
  const socketDir = isShort ? beside : join('/tmp', `storekeeper-${shortHash(name === 'socket' ? dataDir : beside)}`)
  await makePrivate(socketDir, user)
  return socketDir
}

/** Readable by all and writable by root alone, since files in this directory are executed. */
async function ensureRootOwned(directory: string): Promise<string> {
  const isNew = await mkdir(directory, { recursive: true })
  if (isNew) await chmod(directory, 0o755) // whatever the umask
  const found = await lstat(directory)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0)
    throw new Error(`${directory} should be a directory that only root can write.`)
  return directory
}

/** EACCES counts as existing. */
function mayExist(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  )
}

async function isEmpty(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.length === 0
}

function shortHash(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 12)
}
