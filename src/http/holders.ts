// Whose slots an answer takes that takes long, such as a stream or an export (limits/concurrency.ts).

import { siteOf } from '../auth/ip.ts'
import type { Caller } from '../core/caller.ts'
import type { Route } from '../core/route.ts'
import { issuedFor } from '../limits/token-bucket.ts'
import type { Call, Outgoing, Pipeline } from './context.ts'
import { type OpenStream, storeOfStream } from './event-stream.ts'

export async function admitStream(
  { limits, accountOf }: Pipeline,
  { answer }: Route,
  params: unknown,
  { caller }: Outgoing,
  ip: string,
): Promise<OpenStream> {
  const seats = answer === 'changes' ? limits.changeStreams : limits.streams
  const id = storeOfStream(params, caller)
  return seats.admit({ callerId: caller?.id ?? ip, store: id === null ? null : { id, account: await accountOf(id) } })
}

/** A key acts for the account that owns its store: a store can have many keys, and an account many stores. */
export async function holderOf(
  { accountOf }: Pipeline,
  { caller, incoming }: Pick<Call, 'caller' | 'incoming'>,
): Promise<{ callerId: string; account: string }> {
  const callerId = caller?.id ?? incoming.ip
  return { callerId, account: caller?.kind === 'key' ? await accountOf(caller.storeId) : callerId }
}

/** Whom a request counts for: the account, its stores' keys, its back ends, or the address of somebody without an account. */
export async function accountOfCaller(pipeline: Pipeline, caller: Caller | null, ip: string): Promise<string> {
  if (!caller) return siteOf(ip)
  if (caller.kind === 'key') return keysOf(await pipeline.accountOf(caller.storeId))
  if (caller.kind === 'user') return caller.id
  const storeId = issuedFor(caller)
  return storeId === null ? caller.id : servicesOf(await pipeline.accountOf(storeId))
}

const KEYS_OF = 'keys of '
const SERVICES_OF = 'services of '
const CHANGES_OF = 'changes of '

/** Keys take turns as an account of their own: people are not kept waiting by the keys of their stores. */
export const keysOf = (account: string): string => KEYS_OF + account

/** So do the back ends to which somebody has issued service tokens. */
export const servicesOf = (account: string): string => SERVICES_OF + account

/** So do changes: they are not kept waiting by reads. */
export const changesOf = (account: string): string => CHANGES_OF + account

/** For what is left to others: somebody, the keys of their stores and their back ends are one tenant, whatever they ask for. */
export const tenantOf = (account: string): string => [CHANGES_OF, KEYS_OF, SERVICES_OF].reduce(withoutPrefix, account)

const withoutPrefix = (text: string, prefix: string) => (text.startsWith(prefix) ? text.slice(prefix.length) : text)
