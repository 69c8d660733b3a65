// Every setting of the service is a row of this table: name, default, description and parser. `docs/operations.md` is
// tested against the table. Settings are read once, at start, and all their faults are reported at once.

import { availableParallelism } from 'node:os'
import ipaddr from 'ipaddr.js'
import { urlsOfHosts } from './core/database-url.ts'
import { normalizeEmail } from './core/email.ts'
import { PERMISSION_PATTERN } from './core/permissions.ts'
import { Secret } from './crypto/secret.ts'

type ConfigSetting<T> = { fallback: string; description: string; parse: (text: string) => T }

const SETTINGS = {
  HOST: setting('127.0.0.1', 'The address it listens on.', (text) => text),
  PORT: setting('3000', 'The port it listens on. `0` takes a free one and prints it.', integer(0, 65535)),
  PUBLIC_URL: setting(
    '',
    'Where people reach the service, such as `https://keys.example`: links are made from it. `https:`, or `http:` on loopback.',
    optional(publicUrl),
  ),
  WORKERS: setting(
    '1',
    'Processes that serve requests: `auto` is one for each core. Limits for each node, such as `RATE_LIMIT`, then hold for each of them.',
    (text) => (text === 'auto' ? availableParallelism() : integer(1, 256)(text)),
  ),
  DATA_DIR: setting(
    './data',
    'Where the embedded database and the generated secret are stored. Not used with `DATABASE_URL`.',
    (text) => text,
  ),
  DATABASE_URL: setting(
    '',
    'Any PostgreSQL 14 or later, as `postgres://user:password@host:port/database`. Several hosts can be listed, as `host1:port,host2:port`: the primary among them is used. Any number of nodes can share it. Without it, the embedded database is used.',
    optional(databaseUrl),
  ),
  DATABASE_CONNECTIONS: setting(
    'auto',
    'Connections to the database at most, divided among the workers: at least 6 for each. `auto` is 12, and 6 for each worker if that is more. One more for each worker waits for notifications.',
    (text) => (text === 'auto' ? null : integer(6, 10_000)(text)),
  ),
  SERVER_SECRET: setting(
    '',
    '32 random bytes in base64 (`openssl rand -base64 32`). All encryption keys are derived from it. Generated in `DATA_DIR` for the embedded database; required with `DATABASE_URL`.',
    optional(secretBytes),
  ),
  SERVER_SECRET_PREVIOUS: setting(
    '',
    'The previous secret, while you change it, so that existing data stays readable.',
    optional(secretBytes),
  ),
  SIGN_UP: setting(
    'open',
    '`open`: anyone can sign up. `closed`: only people who were invited, and users of the identity provider.',
    oneOf('open', 'closed'),
  ),
  SERVICE_NAME: setting(
    'Storekeeper',
    'The name people know the service by: in mail, and in authenticator apps and passkeys.',
    matching(
      /^[\p{L}\p{N}](?:[\p{L}\p{N} &'’-]{0,48}[\p{L}\p{N}])?$/u,
      '1 to 50 letters, digits, spaces, &, apostrophes and hyphens',
    ),
  ),
  SMTP_URL: setting(
    '',
    'The mail server, as `smtps://user:password@host:465` or `smtp://user:password@host:587`. Needs `MAIL_FROM` and `PUBLIC_URL`. Without it, no mail is sent.',
    optional(smtpUrl),
  ),
  MAIL_FROM: setting(
    '',
    'The sender of mail: `no-reply@shop.example`, or `The shop <no-reply@shop.example>`.',
    optional(sender),
  ),
  KEY_PREFIX: setting(
    'skp',
    'The prefix of every key and token: 2 to 16 lower-case letters and digits.',
    matching(/^[a-z][a-z0-9]{1,15}$/, '2 to 16 lower-case letters and digits, a letter first'),
  ),
  EXTRA_PERMISSIONS: setting(
    '',
    'Your own permissions in addition to the built-in ones, separated by commas: `MANAGE_RETURNS,VIEW_REPORTS`.',
    listOf(
      matching(PERMISSION_PATTERN, 'names of 2 to 63 capital letters, digits and underscores, separated by commas'),
    ),
  ),
  MAX_KEYS_PER_STORE: setting(
    '1000',
    'The maximum number of live keys in a store. It can create ten times as many a day, and rotate keys as often; people some more, owners most.',
    integer(1, 10_000_000),
  ),
  MAX_ADDRESSES_PER_USER: setting(
    '50',
    'The maximum number of billing addresses of a user in a store.',
    integer(1, 1_000_000),
  ),
  MAX_STORES_PER_USER: setting(
    '100',
    'A user for whom this many stores count cannot create or restore another. A store counts for its creator, and after they have handed it over for the first other owner who creates something in it, such as a key. A deleted one counts for another day.',
    integer(1, 1_000_000),
  ),
  MAX_INVITATIONS_PER_STORE: setting(
    '200',
    'The maximum number of open invitations of a store.',
    integer(1, 1_000_000),
  ),
  MAX_CUSTOMERS_PER_STORE: setting(
    '100000',
    'The maximum number of customers of a store. Each takes about 4 KB of the database, and more with addresses.',
    integer(1, 100_000_000),
  ),
  MAX_WEBHOOKS_PER_STORE: setting('20', 'The maximum number of webhooks of a store.', integer(1, 1_000)),
  MAX_SESSIONS_PER_USER: setting(
    '100',
    'The maximum number of sessions of a user. Beyond that, a new session ends the one that was idle longest.',
    integer(1, 1_000_000),
  ),
  MAX_VERSIONS_PER_DAY: setting(
    '50',
    "How often a user's addresses in one store can be changed or replaced within 24 hours. Deleting is always possible.",
    integer(1, 1_000_000),
  ),
  RATE_LIMIT: setting(
    '600',
    'Requests per minute per user and per key, and a tenth of that per IP address without a credential. `off` for benchmarks.',
    (text) => (text === 'off' ? null : integer(1, 10_000_000)(text)),
  ),
  SERVICE_TOKEN_RATE_LIMIT: setting(
    '6000',
    "Requests per minute, at each node, for each service token that an owner has issued, and ten times as many for all of a store's together. `off`: no limit. The operator's tokens have none.",
    (text) => (text === 'off' ? null : integer(1, 10_000_000)(text)),
  ),
  JWT_ISSUER: setting('', 'The `iss` of the identity provider whose access tokens are accepted.', optional(plainText)),
  JWT_AUDIENCE: setting('', 'The `aud` those tokens must carry.', optional(plainText)),
  JWT_JWKS_URL: setting(
    '',
    'Where the provider publishes its keys. `https:`, or `http:` on loopback.',
    optional(keysUrl),
  ),
  OIDC_ISSUER: setting(
    '',
    'The OpenID provider that people sign in with in a browser (single sign-on), as it names itself: `https://login.example/realms/shop`. `https:`, or `http:` on loopback. Needs `PUBLIC_URL` and the two below.',
    optional(issuerUrl),
  ),
  OIDC_CLIENT_ID: setting('', 'The id of this service at that provider.', optional(plainText)),
  OIDC_CLIENT_SECRET: setting(
    '',
    'Its secret there.',
    optional((text) => new Secret(text)),
  ),
  GITHUB_KEYS_URL: setting(
    'https://api.github.com/meta/public_keys/secret_scanning',
    'Where GitHub publishes the keys it signs its reports of leaked keys with. `https:`, or `http:` on loopback. `off`: reports from GitHub are rejected, and nothing is fetched.',
    (text) => (text === 'off' ? null : keysUrl(text)),
  ),
  CORS_ORIGINS: setting(
    '',
    'Origins of web pages that are allowed to call the API, separated by commas: `https://shop.example`.',
    listOf(origin),
  ),
  TRUST_PROXY: setting(
    'off',
    'Whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted: `off`, the number of proxies in front, or their addresses and CIDR ranges, separated by commas.',
    trustProxy,
  ),
  METRICS_PORT: setting(
    '',
    'A separate port for `/metrics`, on the same `HOST`; the main port then does not serve it. Without this and `METRICS_TOKEN`, `/metrics` answers only direct requests from this machine, not those through a proxy.',
    optional(integer(1, 65535)),
  ),
  METRICS_TOKEN: setting(
    '',
    'The token that requests to `/metrics` must send as `Authorization: Bearer …`: at least 16 characters.',
    optional(metricsToken),
  ),
  SHUTDOWN_DELAY: setting(
    '0',
    'How many seconds the service keeps serving after it is told to stop, while `/readyz` answers 503. Make it longer than your load balancer takes to notice.',
    integer(0, 300),
  ),
  LOG_LEVEL: setting(
    'info',
    '`fatal`, `error`, `warn`, `info`, `debug` or `silent`.',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'silent'),
  ),
  WEBHOOK_ALLOW_PRIVATE: setting(
    'off',
    '`on` lets webhooks reach private and loopback addresses over `http:`. For development only.',
    oneOf('off', 'on'),
  ),
} as const

type ConfigTable = typeof SETTINGS
export type Config = { [Name in keyof ConfigTable]: ReturnType<ConfigTable[Name]['parse']> }

/** For the docs and their test. */
export const SETTING_ROWS = Object.entries(SETTINGS).map(([name, { fallback, description }]) => ({
  name,
  fallback,
  description,
}))

export class ConfigError extends Error {
  readonly faults: string[]

  constructor(faults: string[]) {
    super(`Invalid settings:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.faults = faults
  }
}

export function readConfig(env: Record<string, string | undefined>): Config {
  const faults: string[] = []
  const entries = Object.entries(SETTINGS).map(([name, { fallback, parse }]) => {
    try {
      return [name, parse(env[name]?.trim() || fallback)]
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}`)
      return [name, undefined]
    }
  })
  const config = Object.fromEntries(entries) as Config
  faults.push(...contradictions(config))
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

/** Of each worker: with fewer, one long request would keep all others of the worker waiting. */
const MIN_CONNECTIONS = 6

export function connectionsOfWorker({ DATABASE_CONNECTIONS: all, WORKERS: workers }: Config): number {
  return Math.floor((all ?? Math.max(12, 6 * workers)) / workers)
}

function contradictions(config: Config): string[] {
  const faults: string[] = []
  if (connectionsOfWorker(config) < MIN_CONNECTIONS)
    faults.push(
      `DATABASE_CONNECTIONS is too low for WORKERS=${config.WORKERS}: each worker needs at least ${MIN_CONNECTIONS}, so ${MIN_CONNECTIONS * config.WORKERS} in all`,
    )
  if (config.DATABASE_URL && config.SERVER_SECRET === null)
    faults.push(
      'SERVER_SECRET is required with DATABASE_URL, so that every node uses the same one. Create one with: openssl rand -base64 32',
    )
  if (config.SERVER_SECRET_PREVIOUS && config.SERVER_SECRET?.reveal() === config.SERVER_SECRET_PREVIOUS.reveal())
    faults.push('SERVER_SECRET_PREVIOUS is the same as SERVER_SECRET: leave it out')
  if (config.METRICS_PORT !== null && config.METRICS_PORT === config.PORT)
    faults.push('METRICS_PORT is the same as PORT: metrics need a port of their own')
  if (config.SMTP_URL !== null)
    for (const name of ['MAIL_FROM', 'PUBLIC_URL'] as const)
      if (config[name] === null) faults.push(`${name} is missing: mail cannot be sent by SMTP_URL without it`)
  if (config.MAIL_FROM !== null && config.SMTP_URL === null)
    faults.push('SMTP_URL is missing: without it nothing is sent from MAIL_FROM')
  faults.push(...incomplete(config, 'JWT', ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL']))
  faults.push(...incomplete(config, 'OIDC', ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']))
  if (config.OIDC_ISSUER !== null && config.PUBLIC_URL === null)
    faults.push('PUBLIC_URL is missing: the provider of OIDC_ISSUER sends people back to it')
  return faults
}

function incomplete(config: Config, kind: string, names: (keyof Config)[]): string[] {
  const missing = names.filter((name) => config[name] === null)
  if (missing.length === 0 || missing.length === names.length) return []
  return [
    `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} missing: the three ${kind} settings go together`,
  ]
}

function setting<T>(fallback: string, description: string, read: (text: string) => T): ConfigSetting<T> {
  return { fallback, description, parse: read }
}

function optional<T>(read: (text: string) => T): (text: string) => T | null {
  return (text) => (text === '' ? null : read(text))
}

function plainText(text: string): string {
  return text
}

function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new Error(`must be a whole number from ${least} to ${most}, not "${text}"`)
  }
}

function oneOf<Word extends string>(...words: Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((candidate) => candidate === text)
    if (word !== undefined) return word
    throw new Error(`must be one of ${words.join(', ')}, not "${text}"`)
  }
}

function matching(pattern: RegExp, words: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text
    throw new Error(`must be ${words}, not "${text}"`)
  }
}

function listOf<T>(read: (text: string) => T): (text: string) => T[] {
  return (text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(read)
}

function url(text: string): URL {
  if (URL.canParse(text)) return new URL(text)
  throw new Error('must be a URL')
}

// The values of these four are not repeated in the message: they are secrets, or hold one.
function databaseUrl(text: string): Secret {
  const wants = urlsOfHosts(text).map((url) => /[?&]target_session_attrs=([^&#]*)/.exec(url)?.[1] ?? 'primary')
  if (wants.every((want) => want === 'primary' || want === 'read-write')) return new Secret(text)
  throw new Error('must not ask for anything but the primary by target_session_attrs: nothing else is used')
}

function smtpUrl(text: string): { url: Secret; isLoopback: boolean } {
  const { protocol, hostname } = url(text)
  if (/^smtps?:$/.test(protocol) && hostname !== '') return { url: new Secret(text), isLoopback: isLoopback(hostname) }
  throw new Error('must begin with smtp:// or smtps:// and name a host')
}

function secretBytes(text: string): Secret {
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return new Secret(text.replace(/=$/, ''))
  throw new Error('must be 32 bytes in base64: openssl rand -base64 32')
}

function metricsToken(text: string): Secret {
  if (/^[\w.~+/=-]{16,}$/.test(text)) return new Secret(text)
  throw new Error('must have 16 letters, digits or any of "-._~+/=", or more')
}

function keysUrl(text: string): string {
  if (isSafe(url(text))) return text
  throw new Error(`must be an https: URL (http: only on loopback), not "${text}"`)
}

/** As the provider writes it: its tokens carry the same, and a slash more or less is another issuer. */
function issuerUrl(text: string): string {
  const { search, hash, username, password } = url(text)
  if (isSafe(url(text)) && search + hash + username + password === '') return text
  throw new Error(`must be an https: URL without a query (http: only on loopback), not "${text}"`)
}

/** Without a path: pages and cookies are those of the whole host. */
function publicUrl(text: string): string {
  const { origin, pathname, search, hash, username } = url(text)
  if (isSafe(url(text)) && pathname === '/' && search + hash + username === '') return origin
  throw new Error(`must be an https: URL without a path (http: only on loopback), not "${text}"`)
}

export function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

function sender(text: string): string {
  const address = /^(?:[^<>"\p{Cc}]+<([^<>]+)>|([^<>\s]+))$/u.exec(text.trim())
  if (normalizeEmail(address?.[1] ?? address?.[2] ?? '') !== null) return text.trim()
  throw new Error(`must be an e-mail address, or a name and the address in angle brackets, not "${text}"`)
}

function origin(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text) return text
  throw new Error(`must be origins such as https://shop.example, separated by commas, not "${text}"`)
}

function trustProxy(text: string): false | number | string[] {
  if (text === 'off') return false
  if (/^[1-9]$/.test(text)) return Number(text)
  const parts = text.split(',').map((part) => part.trim())
  if (parts.every((part) => ipaddr.isValid(part) || ipaddr.isValidCIDR(part))) return parts
  throw new Error(
    `must be off, the number of proxies (1 to 9), or addresses and CIDRs separated by commas, not "${text}"`,
  )
}
