// Signing in and out, and who one is.

import { isStorekeeperError, type SignedIn, type Storekeeper, storekeeper } from '@storekeeper/client'
import type { Command } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { action, readInput, serviceCommand } from '../command.ts'
import { CommandError, EXIT, toCommandError, UsageError } from '../errors.ts'
import { type Host, hostsFile, isExposed, normalizeUrl, readHosts, writeHosts } from '../hosts.ts'
import type { UserIo } from '../io.ts'
import { type App, type Identity, identify, targetOf } from '../session.ts'

const CODE_TRIES = 3

type LoginOptions = { url?: string; email?: string; store?: string; withToken?: true }

export function addLogin(program: Command, app: App): void {
  program
    .command('login')
    .description('sign in at a service, and keep the sign-in in a file that only you can read')
    .option('--url <url>', 'the service; else STOREKEEPER_URL, or where you signed in last')
    .option('--email <address>', 'instead of being asked for it')
    .option('--store <id>', 'the store of commands that name none')
    .option('--with-token', 'read a token from stdin: a session, an API key or a service token')
    .action((options: LoginOptions) => login(app, options))
  program
    .command('logout')
    .description('end the sign-in at a service, and forget it')
    .option('--url <url>', 'the service; else STOREKEEPER_URL, or where you signed in last')
    .action((options: { url?: string }) => logout(app, options))
  action(
    serviceCommand(program, 'whoami', 'tell which service is asked, and as whom'),
    app,
    async ({ sk, out, signal }, { options }) => {
      const identity = await identify(sk, signal)
      const { storeId } = targetOf(app, options)
      out.record({ url: sk.url, ...factsOf(identity), store: storeId ?? null }, [
        { title: 'service', of: ({ url }) => url },
        { title: 'kind', of: ({ kind }) => kind },
        { title: 'account', of: ({ account }) => account },
        { title: 'id', of: ({ id }) => id },
        { title: 'store', of: ({ store }) => store },
      ])
    },
  )
}

async function login(app: App, options: LoginOptions): Promise<void> {
  const { io } = app
  const url = urlOf(app, options)
  // Before anybody signs in: a session that could not be kept would go on without an owner.
  readHosts(io.env)
  if (isExposed(url)) io.say(`Anybody on the network can read what is sent to ${url}: use https.`)
  const interruption = new AbortController()
  const stopListening = io.onInterrupt(() => interruption.abort())
  try {
    const { signal } = interruption
    const signedIn = options.withToken ? null : await signIn(io, storekeeper({ url }), options.email, signal)
    const token = signedIn?.token ?? (await readToken(io))
    // Whatever was given: only a token that the service accepts is kept.
    const identity = await identify(storekeeper({ url, token }), signal)
    const host = hostOf(token, identity, options.store, signedIn)
    const { hosts } = readHosts(io.env)
    writeHosts(io.env, { current: url, hosts: { ...hosts, [url]: host } })
    io.say(`Signed in at ${url} as ${plain(host.account)}. Kept in ${hostsFile(io.env)}`)
    io.say(host.store ? `Store: ${host.store}` : 'Choose a store: skp stores use store_…')
  } catch (error) {
    throw isStorekeeperError(error, 'invalid_token') ? refusedToken(url, error) : toCommandError(error)
  } finally {
    stopListening()
  }
}

function refusedToken(url: string, cause: Error): CommandError {
  return new CommandError(`${url} does not accept this token. Nothing was kept.`, EXIT.notSignedIn, cause)
}

function urlOf({ io }: App, { url }: LoginOptions): string {
  const named = url ?? (io.env.STOREKEEPER_URL || readHosts(io.env).current)
  if (!named) throw new UsageError('Which service? skp login --url https://…')
  return normalizeUrl(named)
}

async function readToken(io: UserIo): Promise<string> {
  const token = (io.ask ? await io.ask('Token: ', { hidden: true }) : await readInput(io)).trim()
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('There is no token on stdin.')
  return token
}

async function signIn(
  io: UserIo,
  sk: Storekeeper,
  email: string | undefined,
  signal: AbortSignal,
): Promise<SignedIn & { token: string }> {
  if (!io.ask)
    throw new UsageError('Nobody can be asked for a password here: pipe a token to "skp login --with-token" instead.')
  const credentials = {
    email: email ?? (await io.ask('E-mail: ')).trim(),
    password: await io.ask('Password: ', { hidden: true }),
  }
  const signedIn = await sk.auth.signIn(credentials, { signal }).catch((error: unknown) => {
    if (!isStorekeeperError(error, 'second_factor_required')) throw error
    return secondStep(io, sk, error.details, signal)
  })
  if (signedIn.token === undefined) throw new CommandError('The service has given no token.', EXIT.unavailable)
  return { ...signedIn, token: signedIn.token }
}

async function secondStep(
  io: UserIo,
  sk: Storekeeper,
  { challenge, methods }: { challenge: string; methods: string[] },
  signal: AbortSignal,
): Promise<SignedIn> {
  if (!methods.includes('totp') && !methods.includes('recovery_code'))
    throw new CommandError(
      'This account signs in with a passkey, which a terminal cannot use. Use a recovery code, or an API key: skp login --with-token',
      EXIT.notSignedIn,
    )
  for (let tries = 1; ; tries++) {
    const code = (await io.ask?.('Code of your authenticator app, or a recovery code: '))?.trim() ?? ''
    try {
      return await sk.auth.secondFactor({ challenge, code }, { signal })
    } catch (error) {
      if (!isStorekeeperError(error, 'invalid_code') || tries === CODE_TRIES) throw error
      io.say('That code is wrong, or was used before.')
    }
  }
}

function hostOf(token: string, identity: Identity, store: string | undefined, signedIn: SignedIn | null): Host {
  const [only, ...others] = identity.kind === 'user' ? identity.me.stores : []
  const known = identity.kind === 'key' ? identity.key.storeId : others.length === 0 ? only?.store.id : undefined
  return {
    token,
    account: factsOf(identity).account,
    store: store ?? known,
    isSession: signedIn !== null,
    expiresAt: signedIn?.expiresAt,
  }
}

function factsOf(identity: Identity): { kind: string; account: string; id: string | null } {
  if (identity.kind === 'service') return { kind: 'service', account: 'a service token', id: null }
  if (identity.kind === 'key')
    return { kind: 'key', account: `${identity.key.name} (${identity.key.start}…)`, id: identity.key.id }
  const { email, name, id } = identity.me.user
  return { kind: 'user', account: email ?? name ?? id, id }
}

async function logout(app: App, options: { url?: string }): Promise<void> {
  const { io } = app
  const url = urlOf(app, options)
  const { current, hosts } = readHosts(io.env)
  const { [url]: host, ...others } = hosts
  if (!host) throw new CommandError(`You are not signed in at ${url}.`, EXIT.notSignedIn)
  writeHosts(io.env, { current: current === url ? (Object.keys(others)[0] ?? null) : current, hosts: others })
  if (!host.isSession) return io.say(`Forgotten here. The token itself still works at ${url}.`)
  try {
    await storekeeper({ url, token: host.token }).auth.signOut()
  } catch (error) {
    // Nothing is left to end.
    if (!isStorekeeperError(error, 'invalid_token')) {
      io.say('Forgotten here, but the session could not be ended: it lasts until it expires, or you end it elsewhere.')
      throw toCommandError(error)
    }
  }
  io.say(`Signed out at ${url}.`)
}
