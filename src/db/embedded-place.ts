// Who runs PostgreSQL, and where. For an ordinary user: that user, in the data directory.
// PostgreSQL refuses root. Started by root it runs as an unprivileged user that is already there, and the data directory
// becomes that user's; where it cannot enter the folder (a clone under /root), the data lives in /var/lib/storekeeper.
// A database that exists decides both questions, so that a later start always finds it again.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { findBinaries, type Ground, installedGround, NoEmbeddedPostgres, run, type User } from './embedded-binaries.ts'

export type Place = {
  dataDir: string
  /** PGDATA */
  cluster: string
  socketDir: string
  log: string
  /** the directory of `initdb` and `postgres` */
  bin: string
  /** whom to run PostgreSQL as, when we are root */
  user: User | undefined
}

/** Only a name: there is no TCP port, but PostgreSQL calls its socket `.s.PGSQL.<port>`. */
export const SOCKET_PORT = 5432

export async function preparePlace(asked: string, say: (line: string) => void, ground: Ground): Promise<Place> {
  const isRoot = process.getuid?.() === 0
  const { dataDir, user } = isRoot ? await settleForRoot(asked, say, ground) : await settleForUser(asked)
  const makeCopiesDir = async () => (isRoot ? makeRootsOwn(ground.elsewhere) : dataDir)
  const bin = await findBinaries(ground.packageRoot, user, makeCopiesDir)
  const socketDir = await makeSocketDir(dataDir, user)
  return { dataDir, cluster: join(dataDir, 'postgres'), socketDir, log: join(dataDir, 'postgres.log'), bin, user }
}

/** Whether a start with this directory would find a database. Nothing is made. */
export async function hasEmbedded(asked: string, ground = installedGround()): Promise<boolean> {
  const instance = await findHere(asked)
  const isIn = (directory: string) => isThere(join(directory, 'postgres', 'PG_VERSION'))
  return (await isIn(instance)) || (process.getuid?.() === 0 && isIn(elsewhere(instance, ground)))
}

/** Makes a directory of mode 0700, or checks that the one there is ours: in /tmp anyone could have been first. */
export async function makePrivate(directory: string, user: User | undefined): Promise<void> {
  await mkdir(directory, { mode: 0o700 }).catch((error) => {
    if (error.code !== 'EEXIST') throw error
  })
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  // Through one handle, so that what is changed is what was checked.
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

type Settled = { dataDir: string; user: User | undefined }

async function settleForUser(asked: string): Promise<Settled> {
  try {
    await mkdir(resolve(asked), { recursive: true, mode: 0o700 })
    const dataDir = await realpath(asked)
    const isMine = (await stat(dataDir)).uid === process.getuid?.()
    if ((await isEmpty(dataDir)) && isMine) await chmod(dataDir, 0o700)
    return { dataDir, user: undefined }
  } catch (error) {
    const isForbidden = error instanceof Error && 'code' in error && error.code === 'EACCES'
    throw isForbidden ? new Error(`This user may not use ${asked}; start as its owner, or set DATA_DIR.`) : error
  }
}

async function settleForRoot(asked: string, say: (line: string) => void, ground: Ground): Promise<Settled> {
  await mkdir(dirname(resolve(asked)), { recursive: true })
  const instance = await findHere(asked)
  const there = elsewhere(instance, ground)

  const owner = await findOwner(join(instance, 'postgres'))
  if (owner) {
    if (await canEnter(owner, instance)) return { dataDir: instance, user: owner }
    throw new Error(`The database in ${instance} is user ${owner.name}'s, who may not enter that directory any more.`)
  }
  const ownerThere = await findOwner(join(there, 'postgres'))
  const user = ownerThere ?? (await findUnprivilegedUser())
  // An empty directory we may make the user's; one with other things in it stays as it is.
  const isFresh = await isEmpty(instance)
  if (!ownerThere && (await canEnter(user, isFresh ? dirname(instance) : instance))) {
    if (isFresh) await makePrivate(instance, user)
    return { dataDir: instance, user }
  }
  say(`PostgreSQL runs as user ${user.name}, who may not enter ${dirname(instance)}: the data is in ${there}.`)
  await makeRootsOwn(ground.elsewhere)
  await makePrivate(there, user)
  return { dataDir: there, user }
}

async function findHere(asked: string): Promise<string> {
  const path = resolve(asked)
  const parent = await realpath(dirname(path)).catch(() => dirname(path))
  return realpath(path).catch(() => join(parent, basename(path)))
}

function elsewhere(instance: string, ground: Ground): string {
  return join(ground.elsewhere, shortHash(instance))
}

/** The owner of an existing database. */
async function findOwner(cluster: string): Promise<User | undefined> {
  const found = await stat(join(cluster, 'PG_VERSION')).catch(() => undefined)
  if (!found) return undefined
  if (found.uid === 0) {
    const { name } = await findUnprivilegedUser()
    throw new Error(`PostgreSQL does not run as root: give the database to a user (chown -R ${name} ${cluster}).`)
  }
  const account = (await readAccounts()).find(({ uid }) => uid === found.uid)
  return { uid: found.uid, gid: found.gid, name: account?.name ?? String(found.uid) }
}

async function findUnprivilegedUser(): Promise<User> {
  const accounts = await readAccounts()
  const names = ['postgres', '_postgres', 'nobody']
  const user = names.map((each) => accounts.find(({ name }) => name === each)).find((account) => account)
  if (!user) throw new NoEmbeddedPostgres('PostgreSQL does not run as root, and there is no user postgres or nobody')
  if (!(await canEnter(user, '/')))
    throw new NoEmbeddedPostgres(`PostgreSQL does not run as root, and root may not become ${user.name} here`)
  return user
}

async function readAccounts(): Promise<User[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return { name, uid: Number(uid), gid: Number(gid) }
  })
}

/** Asks the kernel by trying, which knows more than the modes say. */
async function canEnter(user: User, directory: string): Promise<boolean> {
  return !(await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], user))
}

/** sockaddr_un.sun_path without its final zero byte */
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107

async function makeSocketDir(dataDir: string, user: User | undefined): Promise<string> {
  const beside = join(dataDir, 'socket')
  const isShort = Buffer.byteLength(join(beside, `.s.PGSQL.${SOCKET_PORT}`)) <= MAX_SOCKET_PATH_BYTES
  const socketDir = isShort ? beside : join('/tmp', `storekeeper-${shortHash(dataDir)}`)
  await makePrivate(socketDir, user)
  return socketDir
}

/** Readable by all and writable by root alone, since what lies here is executed. */
async function makeRootsOwn(directory: string): Promise<string> {
  const isNew = await mkdir(directory, { recursive: true })
  if (isNew) await chmod(directory, 0o755) // whatever the umask
  const found = await lstat(directory)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0)
    throw new Error(`${directory} should be a directory that only root can write.`)
  return directory
}

/** What may not be looked at is there. */
function isThere(path: string): Promise<boolean> {
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
