// What a command talks to: which service, as whom, in which store. A flag comes before the environment, the environment
// before the file of sign-ins. A token is only ever sent to the service that it was given for.

import {
  isStorekeeperError,
  type Me,
  type OwnKey,
  type StoreClient,
  type Storekeeper,
  storekeeper,
} from '@storekeeper/client'
import { CommandError, EXIT, mayHaveBeenDone, toCommandError, UsageError } from './errors.ts'
import { type Host, normalizeUrl, readHosts } from './hosts.ts'
import type { UserIo } from './io.ts'
import { newOutput, type Output } from './output.ts'
import { quoted } from './shell.ts'

/** One call of skp. */
export type App = {
  io: UserIo
  argv: string[]
  /** Of a command that was done, and found something. */
  exitCode: number
}

export type ServiceOptions = { url?: string; json?: true; store?: string }

export type Session = {
  io: UserIo
  sk: Storekeeper
  out: Output
  signal: AbortSignal
  /** That of the flag, the environment or the file; else the only one there is. */
  store(): Promise<StoreClient>
}

export type Target = { url: string; token: string | undefined; storeId: string | undefined }

/** `withToken: false` for what is asked without one, such as signing in. */
export function targetOf({ io }: Pick<App, 'io'>, options: ServiceOptions): Target {
  const { STOREKEEPER_URL, STOREKEEPER_TOKEN, STOREKEEPER_STORE } = io.env
  const named = options.url ?? (STOREKEEPER_URL || null)
  const needsFile = named === null || !STOREKEEPER_TOKEN || !(options.store ?? STOREKEEPER_STORE)
  const file = needsFile ? readHosts(io.env) : { current: null, hosts: {} }
  const url = named === null ? file.current : normalizeUrl(named)
  if (url === null)
    throw new UsageError('Which service? Sign in with "skp login --url https://…", or set STOREKEEPER_URL.')
  const host: Host | undefined = Object.hasOwn(file.hosts, url) ? file.hosts[url] : undefined
  return {
    url,
    token: STOREKEEPER_TOKEN?.trim() || host?.token,
    storeId: options.store ?? (STOREKEEPER_STORE || host?.store),
  }
}

/** Runs a command at the service, and turns whatever ends it into a sentence and an exit code. */
export async function withSession(
  app: App,
  options: ServiceOptions,
  work: (session: Session) => Promise<void>,
  target: Target = targetOf(app, options),
): Promise<void> {
  const { io } = app
  if (target.token === undefined)
    throw new CommandError(
      `You are not signed in at ${target.url}. Run "skp login --url ${target.url}", or set STOREKEEPER_TOKEN.`,
      EXIT.notSignedIn,
    )
  const interruption = new AbortController()
  const stopListening = io.onInterrupt(() => interruption.abort())
  const sk = storekeeper({ url: target.url, token: target.token })
  const session = {
    io,
    sk,
    out: newOutput(io, options),
    signal: interruption.signal,
    store: async () => sk.store(target.storeId ?? (await onlyStore(sk, interruption.signal))),
  }
  try {
    await work(session)
  } catch (error) {
    throw withRemedy(error, target)
  } finally {
    stopListening()
    await sk.close()
  }
}

function withRemedy(error: unknown, { url }: Target): unknown {
  // What the client refuses to send, such as an id that is empty because a variable of a script was.
  if (error instanceof TypeError) return new UsageError(error.message)
  if (!isStorekeeperError(error, 'invalid_token', 'unauthenticated')) return toCommandError(error)
  return new CommandError(
    `The token for ${url} is not valid, or no longer: sign in again with "skp login --url ${url}".`,
    EXIT.notSignedIn,
    error,
  )
}

export type Identity = { kind: 'user'; me: Me } | { kind: 'key'; key: OwnKey } | { kind: 'service' }

/** Whose token it is. The service tells kinds of callers apart by what it refuses to them. */
export async function identify(sk: Storekeeper, signal: AbortSignal): Promise<Identity> {
  try {
    return { kind: 'user', me: await sk.user.read({ signal }) }
  } catch (error) {
    if (!isStorekeeperError(error, 'user_required')) throw error
  }
  try {
    return { kind: 'key', key: await sk.keys.self({ signal }) }
  } catch (error) {
    if (!isStorekeeperError(error, 'key_required')) throw error
  }
  return { kind: 'service' }
}

async function onlyStore(sk: Storekeeper, signal: AbortSignal): Promise<string> {
  const identity = await identify(sk, signal)
  if (identity.kind === 'key') return identity.key.storeId
  const [first, ...others] = identity.kind === 'user' ? identity.me.stores : []
  if (first && others.length === 0) return first.store.id
  throw new UsageError(
    'Which store? Name it with --store, with STOREKEEPER_STORE, or once for all with "skp stores use store_…".',
  )
}

/**
 * Something that is made once. If its answer is lost, stderr tells the command that asks for the same answer again.
 * `fixed`: options whose values depend on the time of the call, as they were.
 */
export async function once<Made>(
  app: App,
  { idempotencyKey = crypto.randomUUID(), fixed = {} }: { idempotencyKey?: string | undefined; fixed?: Fixed },
  make: (idempotencyKey: string) => Promise<Made>,
): Promise<Made> {
  try {
    return await make(idempotencyKey)
  } catch (error) {
    if (error instanceof NotDelivered || mayHaveBeenDone(error)) {
      const command = repeated(app.argv, { ...fixed, '--idempotency-key': idempotencyKey })
      app.io.say(
        error instanceof NotDelivered
          ? `It was done, but not handed over. This gets the same answer, within the hour:\n  ${command}`
          : `It may have been done. This gets the same answer, without doing it twice, and a secret within the hour:\n  ${command}`,
      )
    }
    throw error
  }
}

/** The service has answered, and what it said did not arrive where it should. */
export class NotDelivered extends CommandError {
  constructor(cause: Error) {
    super(cause.message, EXIT.refused, cause)
  }
}

type Fixed = Record<string, string | undefined>

/** The same command, with these options in place of what was given for them. */
function repeated(argv: string[], fixed: Fixed): string {
  const set = Object.entries(fixed).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const names = set.map(([name]) => name)
  const rest = argv.filter(
    (word, n) => !names.some((name) => word === name || word.startsWith(`${name}=`) || argv[n - 1] === name),
  )
  return ['skp', ...rest, ...set.flat()].map(quoted).join(' ')
}
