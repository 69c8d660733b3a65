// What a route demands of a key, as `requireKey` takes it. Mistakes in it throw when the route is made, not when it is used.

import type { ValidVerdict, Verification } from '../api.gen.ts'
import type { Refusal } from './refusals.ts'

/** Who is calling: the verdict on their key, which is valid. */
export type ApiKey = ValidVerdict

type Awaitable<Value> = Value | Promise<Value>

/** `Args` is what the framework gives a handler. */
export interface KeyOptions<Args extends unknown[]>
  extends Pick<Verification, 'anyPermissions' | 'types' | 'cost' | 'limits'> {
  /**
   * The store the key must belong to, or how to find it, such as by a parameter of the path. Left out: the `storeId` of
   * the client, else the store of the service token.
   */
  storeId?: string | ((...args: Args) => Awaitable<string | undefined>) | undefined
  /** Instead of `storeId`: accept keys of every store the service token covers. */
  anyStore?: boolean | undefined
  /** The header that carries the key, such as `x-api-key`, instead of `Authorization: Bearer`. */
  header?: string | undefined
  /** The address of the caller, if the framework does not know it or you know better. Invalid ones are not sent. */
  ip?: ((...args: Args) => Awaitable<Address>) | undefined
  /** Whether to say why a key is invalid: `reason` is then `REVOKED`, `EXPIRED`, … Otherwise it could be any of them. */
  tell?: boolean | undefined
  /** Changes the response to a refused request. It stays refused: a status below 400 is ignored. */
  onRefused?: ((refusal: Refusal, ...args: Args) => Awaitable<ChangedAnswer | undefined | void>) | undefined
  /** Is told why there was no verdict, when the answer is 503. Left out: the framework's log, or `console.error`. */
  onError?: ((error: unknown, ...args: Args) => void) | undefined
}

/** An address, or what Hono's `getConnInfo` returns. */
export type Address = string | undefined | null | { remote: { address?: string | undefined } }

export type ChangedAnswer = {
  status?: number
  headers?: Record<string, string>
  /** Sent as JSON. */
  body?: unknown
}

/** The permissions that a key must have, all of them; without any, every valid key will do. */
export type PolicyArgs<Args extends unknown[]> = [permissions?: string | readonly string[], options?: KeyOptions<Args>]

export type Policy<Args extends unknown[]> = Omit<KeyOptions<Args>, 'header'> & {
  permissions: readonly string[]
  /** In lower case. Null: `Authorization`. */
  header: string | null
  /** The part of a question that is the same for every request. */
  demands: Omit<Verification, 'key'>
}

const OPTION_NAMES: Record<keyof KeyOptions<[]>, true> = {
  anyPermissions: true,
  types: true,
  cost: true,
  limits: true,
  storeId: true,
  anyStore: true,
  header: true,
  ip: true,
  tell: true,
  onRefused: true,
  onError: true,
}

export function parsePolicy<Args extends unknown[]>(args: PolicyArgs<Args>): Policy<Args> {
  const [permissions = [], options = {}] = args
  // `requireKey(sk, PERMISSIONS.RAED)` would let every key in.
  if (args.length > 0 && args[0] === undefined) throw new TypeError('requireKey: the permission is undefined.')
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(OPTION_NAMES, name))
  if (unknown.length > 0) throw new TypeError(`requireKey: there is no option "${unknown.join('", "')}".`)
  const { header, anyPermissions, types, ...rest } = options
  for (const [name, list] of Object.entries({ anyPermissions, types }))
    if (list !== undefined && (!isListOfWords(list) || list.length === 0))
      throw new TypeError(`requireKey: "${name}" is a list of at least one word.`)
  const wanted = typeof permissions === 'string' ? [permissions] : permissions
  if (!isListOfWords(wanted)) throw new TypeError('requireKey: a permission is a word, such as "READ".')
  if (header !== undefined && !/^[\w-]+$/.test(header))
    throw new TypeError('requireKey: "header" is the name of a header.')
  const name = header?.toLowerCase() ?? 'authorization'
  const lists = {
    permissions: [...wanted],
    ...(anyPermissions ? { anyPermissions: [...anyPermissions] } : {}),
    ...(types ? { types: [...types] } : {}),
  }
  const { cost, limits, anyStore } = rest
  // Without members that are undefined: a service that does not know one refuses it.
  const demands = {
    ...lists,
    ...(cost === undefined ? {} : { cost }),
    ...(limits === undefined ? {} : { limits: structuredClone(limits) }),
    ...(anyStore ? { anyStore } : {}),
  }
  return { ...rest, ...lists, header: name === 'authorization' ? null : name, demands }
}

/** Without spaces and quotes, since permissions stand in the challenge. */
function isListOfWords(list: unknown): list is readonly string[] {
  return Array.isArray(list) && list.every((word) => typeof word === 'string' && /^[\w:.-]+$/.test(word))
}
