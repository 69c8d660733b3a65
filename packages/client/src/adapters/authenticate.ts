// What every adapter does: reads the key of a request, gets the verdict on it, and makes of it an identity or a refusal.
// The framework's own code only translates. Whatever goes wrong on the way is a refusal too, so nothing here lets anybody
// in but a verdict that is valid.

import type { ValidVerdict, Verdict, Verification } from '../api.gen.ts'
import type { Verifier } from '../transport.ts'
import { type Address, type ApiKey, type ChangedAnswer, type Policy, type PolicyArgs, parsePolicy } from './policy.ts'
import {
  headersFor,
  type Refusal,
  refuse,
  refuseTwoKeys,
  refuseUnavailable,
  refuseVerdict,
  refuseWithoutKey,
} from './refusals.ts'

/** A client, or a verifier of one. */
export type KeySource = Verifier | { verifier(): Verifier; readonly storeId?: string | undefined }

export type Admission = { ok: true; apiKey: ApiKey; headers: Record<string, string> }

/** How a framework shows its requests. */
export type Source<Args extends unknown[]> = {
  /** The object that stands for the request as long as it lasts. */
  request(...args: Args): object
  /** The value of a header. One that was sent several times is joined by commas. */
  header(name: string, ...args: Args): string | null | undefined
  /** The address, by what the framework was told about proxies. */
  ip?(...args: Args): Address
  /** Where the framework tells of errors. */
  onError?(error: unknown, ...args: Args): void
}

/** What is sent to a request that is refused. */
export type Rejection = { ok: false; status: number; headers: Record<string, string>; text: string }

export type Guard<Args extends unknown[]> = (...args: Args) => Promise<Admission | Rejection>

/** The function that decides on every request of a route. It never throws. */
export function newGuard<Args extends unknown[]>(
  sk: KeySource,
  policyArgs: PolicyArgs<Args>,
  source: Source<Args>,
): Guard<Args> {
  const policy = parsePolicy(policyArgs)
  const verifier = verifierOf(sk)
  const storeId = 'verifier' in sk ? sk.storeId : undefined
  const tell = quietly(policy.onError ?? source.onError ?? logRarely())
  return async (...args) => {
    let refusal: Refusal
    try {
      const decision = await decide(policy, source, verifier, storeId, args)
      if (decision.ok) return decision
      refusal = decision
    } catch (error) {
      tell(error, ...args)
      refusal = refuseUnavailable(error, policy)
    }
    try {
      return rejectionOf(refusal, await policy.onRefused?.(refusal, ...args))
    } catch (error) {
      tell(error, ...args)
      return rejectionOf(refusal, undefined)
    }
  }
}

async function decide<Args extends unknown[]>(
  policy: Policy<Args>,
  source: Source<Args>,
  verifier: Verifier,
  storeId: string | undefined,
  args: Args,
): Promise<Admission | Refusal> {
  const key = readKey(policy, (name) => source.header(name, ...args) ?? '')
  if (typeof key !== 'string') return key
  const ip = addressOf(await (policy.ip ? policy.ip(...args) : source.ip?.(...args)))
  const store = await storeFor(policy, storeId, args)
  const question = { ...policy.demands, key, ...(ip ? { ip } : {}), ...(store ? { storeId: store } : {}) }
  const verdict = await verdictOn(verifier, source.request(...args), policy, question)
  if (verdict.valid !== true || verdict.code !== 'VALID') return refuseVerdict({ ...verdict, valid: false }, policy)
  return { ok: true, apiKey: verdict, headers: headersFor(verdict) }
}

/** A route that finds its store by the request must find one: without it, keys of any store might do. */
async function storeFor<Args extends unknown[]>(
  { storeId, anyStore }: Policy<Args>,
  ofClient: string | undefined,
  args: Args,
): Promise<string | undefined> {
  if (storeId === undefined) return anyStore ? undefined : ofClient
  const found = typeof storeId === 'string' ? storeId : await storeId(...args)
  if (typeof found !== 'string' || found === '')
    throw new TypeError('requireKey: no storeId was found for the request.')
  return found
}

// ---- the key of a request ---------------------------------------------------------------------------------------------

/** A key is visible ASCII, and at most that long. */
const KEY = /^[\x21-\x7e]{1,512}$/

/** Exactly one key, and only in its header: an address with a key in it would be logged and kept. */
function readKey<Args extends unknown[]>(policy: Policy<Args>, headerOf: (name: string) => string): string | Refusal {
  const [scheme = '', ...words] = headerOf('authorization').trim().split(/\s+/)
  const isBearer = scheme.toLowerCase() === 'bearer'
  const inAuthorization = isBearer ? words : []
  const inHeader = policy.header ? headerOf(policy.header).trim().split(/\s+/).filter(Boolean) : inAuthorization
  // Two headers of one name arrive as one, with a comma and a space.
  if (inHeader.length > 1 || (policy.header && inHeader.length > 0 && isBearer)) return refuseTwoKeys(policy)
  const [key] = inHeader
  if (key === undefined) return refuseWithoutKey(policy)
  return KEY.test(key) ? key : refuse('invalid_token', policy)
}

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|$)){4}$/

/** Undefined for what is no address: a key with an allowlist is refused then. */
function addressOf(given: Address): string | undefined {
  const ip = typeof given === 'object' ? given?.remote.address : given
  if (typeof ip !== 'string' || ip.length > 45) return undefined
  return IPV4.test(ip) || (ip.includes(':') && URL.canParse(`http://[${ip}]`)) ? ip : undefined
}

// ---- one verification a request ---------------------------------------------------------------------------------------

type Earlier = { verifier: Verifier; question: Verification; verdict: ValidVerdict; policies: Set<object> }

const earlier = new WeakMap<object, Earlier>()

/**
 * A second check of the same request uses the first verdict, so that a request counts once and spends once. Only limits
 * and costs that the second names itself are asked for, and stores that the first did not ask about.
 */
async function verdictOn(
  verifier: Verifier,
  request: object,
  policy: object,
  question: Verification,
): Promise<Verdict> {
  const before = earlier.get(request)
  const isSame =
    before?.verifier === verifier && before.question.key === question.key && before.question.ip === question.ip
  // Of the same check only the store can be another one: it may find it by the request.
  if (isSame && (before.policies.has(policy) || isAnswered(before.question, question))) {
    const code = firstRefusal(before.verdict, question)
    if (code) return { ...before.verdict, valid: false, code }
    before.policies.add(policy)
    return before.verdict
  }
  const verdict = await verifier.verify(
    isSame ? { ...question, cost: question.cost ?? 0, limits: question.limits ?? [] } : question,
  )
  if (verdict.valid === true) {
    const policies = new Set(isSame ? before.policies : []).add(policy)
    earlier.set(request, { verifier, question, verdict, policies })
  }
  return verdict
}

function isAnswered(first: Verification, { cost, limits, storeId, anyStore }: Verification): boolean {
  const names = cost !== undefined || limits !== undefined
  return !names && (storeId !== undefined || anyStore === true || (!first.storeId && !first.anyStore))
}

/** In the order of the service. */
function firstRefusal(verdict: ValidVerdict, question: Verification): string | null {
  const { storeId, types, permissions = [], anyPermissions } = question
  const holds = (permission: string) => verdict.permissions.includes(permission)
  if (storeId !== undefined && storeId !== verdict.storeId) return 'NOT_FOUND'
  if (types && !types.some((type) => type === verdict.type)) return 'WRONG_TYPE'
  return permissions.every(holds) && (!anyPermissions || anyPermissions.some(holds)) ? null : 'INSUFFICIENT_PERMISSIONS'
}

const verifiers = new WeakMap<object, Verifier>()

/** One for each client, however many routes it protects: a verifier that works in the process has a stream. */
function verifierOf(sk: KeySource): Verifier {
  if (!('verifier' in sk)) {
    if (typeof sk.verify !== 'function') throw new TypeError('requireKey: the first argument is a client.')
    return sk
  }
  const verifier = verifiers.get(sk) ?? sk.verifier()
  verifiers.set(sk, verifier)
  return verifier
}

// ---- what the application may say to it -------------------------------------------------------------------------------

function rejectionOf({ status, headers, body }: Refusal, change: ChangedAnswer | undefined | void): Rejection {
  const { status: wanted = status, headers: more, body: other = body } = change ?? {}
  const isRefusal = Number.isInteger(wanted) && wanted >= 400 && wanted <= 599
  return {
    ok: false,
    status: isRefusal ? wanted : status,
    headers: { ...headers, ...more },
    text: JSON.stringify(other),
  }
}

function quietly<Args extends unknown[]>(tell: (error: unknown, ...args: Args) => void): typeof tell {
  return (...args) => {
    try {
      tell(...args)
    } catch {}
  }
}

/** Each request of an outage would be told otherwise. */
function logRarely(): (error: unknown, ...args: unknown[]) => void {
  let lastAt = Number.NEGATIVE_INFINITY
  return (error) => {
    if (performance.now() - lastAt < 1_000) return
    lastAt = performance.now()
    console.error('An API key could not be verified:', error)
  }
}
