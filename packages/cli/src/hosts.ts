// Where sign-ins are kept: one file that only its owner can read, with a token for the URL of each service.

import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { CommandError, EXIT, UsageError } from './errors.ts'

export type Host = {
  token: string
  /** For people: an e-mail address, the name of a key, or that it is a service token. */
  account: string
  /** The store of commands that name none. */
  store?: string | undefined
  /** Whether skp has opened this session itself: then `logout` ends it. */
  isSession: boolean
  expiresAt?: string | undefined
}

export type Hosts = {
  /** The service of commands that name none. */
  current: string | null
  hosts: Record<string, Host>
}

type Env = Record<string, string | undefined>

export function hostsFile(env: Env): string {
  const given = env.XDG_CONFIG_HOME
  const folder = given && isAbsolute(given) ? given : join(env.HOME || homedir(), '.config')
  return join(folder, 'storekeeper', 'hosts.json')
}

export function readHosts(env: Env): Hosts {
  const path = hostsFile(env)
  let text: string
  try {
    checkPrivate(path)
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, hosts: {} }
    throw error
  }
  try {
    const { current = null, hosts } = JSON.parse(text) as Partial<Hosts>
    if (typeof hosts === 'object' && hosts !== null) return { current, hosts }
  } catch {}
  throw new CommandError(`${path} is damaged. Delete it, and sign in again: skp login`, EXIT.notSignedIn)
}

/** A token that others could read is not used, so that somebody notices. */
function checkPrivate(path: string): void {
  const { mode, uid } = statSync(path)
  const isMine = process.getuid === undefined || uid === process.getuid()
  if (process.platform === 'win32' || (isMine && (mode & 0o077) === 0)) return
  const remedy = isMine ? `chmod 600 ${path}` : 'it belongs to another user'
  throw new CommandError(
    `${path} holds tokens, and others can read or change it: ${remedy}. If others have access to this machine, end those sessions too.`,
    EXIT.notSignedIn,
  )
}

/** As a whole, or not at all. */
export function writeHosts(env: Env, hosts: Hosts): void {
  const path = hostsFile(env)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(draft, `${JSON.stringify(hosts, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** One name for one service, however it is written. */
export function normalizeUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (!isPlain) throw new UsageError(`"${text}" is not the URL of a service, such as https://keys.example.com`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** Whether a token would cross a network in the clear. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname)
}
