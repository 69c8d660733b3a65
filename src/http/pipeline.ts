// The steps of a request, in order; each is a function of the file it is imported from.

import { CallerChanged } from '../auth/recheck.ts'
import type { Caller } from '../core/caller.ts'
import { Failure, fail } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import { issuedFor, type RateLimitState, rateLimitHeaders } from '../limits/token-bucket.ts'
import { identify } from './authenticate.ts'
import { authorize, checkIds, countKeyUse } from './authorize.ts'
import type { Call, Incoming, Outgoing, Pipeline } from './context.ts'
import { execute, invalidateChanged } from './execute.ts'
import { executeOnce } from './execute-once.ts'
import { accountOfCaller, tenantOf } from './holders.ts'
import { checkSignature, parseInput } from './input.ts'
import { type Turn, takeTurn } from './long-work.ts'
import { acceptsHtml, refusalPage } from './pages/refusal.ts'
import { turnToParse } from './parse-turns.ts'
import { renderProblem } from './problem.ts'
import { respond, sunsetHeader } from './response.ts'
import { identifying, inShare } from './shares.ts'

/** A caller whose rights change during the request is authenticated again; in practice once is enough. */
const MAX_AUTH_TRIES = 5

/** What was settled before a large body was read (large-body.ts). */
type Settled = { rateLimit: RateLimitState | null; turn: Turn | null }
export type Admitted = Settled & {
  /** The work with the body: when it is over, the turn and the bytes are given back. */
  during<T>(work: () => Promise<T>): Promise<T>
}

const NOTHING_YET: Settled = { rateLimit: null, turn: null }

export function handle(pipeline: Pipeline, route: Route, incoming: Incoming, admitted?: Admitted): Promise<Outgoing> {
  if (!admitted) return tryToHandle(pipeline, route, incoming, NOTHING_YET, 1)
  return admitted.during(() => tryToHandle(pipeline, route, incoming, admitted, 1))
}

async function tryToHandle(
  pipeline: Pipeline,
  route: Route,
  incoming: Incoming,
  settled: Settled,
  attempt: number,
): Promise<Outgoing> {
  const { credential, caller, refusal } = await identifying(pipeline, incoming, () =>
    identify(pipeline, route, incoming),
  )
  const rateLimit = settled.rateLimit ?? takeToken(pipeline.limits, caller, incoming.ip)
  // A refused credential is answered as such, until its address has spent its own rate limit.
  if (refusal && rateLimit?.allowed !== false) throw refusal
  const account = await accountOfCaller(pipeline, caller, incoming.ip)
  const call = { route, incoming, caller, credential, account }
  const tells = rateLimit && caller?.kind !== 'service'
  const headers = { ...(tells ? rateLimitHeaders(rateLimit) : {}), ...sunsetHeader(caller) }
  try {
    checkRate(rateLimit)
    if (route.meteredBody && caller?.kind === 'service')
      checkRate(pipeline.limits.services.takeBytes(caller, tenantOf(account), incoming.body.length))
    authorize(pipeline.verifier, route, caller, incoming.params)
    // A key's use is counted once, however often its rights are checked.
    if (attempt === 1) countKeyUse(pipeline.verifier, route, caller)
    const wire = await inShare(pipeline, call, () =>
      executeOnce(pipeline, call, (idempotent) =>
        inTurn(pipeline, call, settled.turn, async () => {
          await checkSignature(pipeline.auth, call)
          await turnToParse(pipeline, call)
          const input = parseInput(pipeline.instance, call)
          checkIds(call, input.faults)
          return execute(pipeline, call, input, idempotent)
        }),
      ),
    )
    return respond(call, wire, headers)
  } catch (error) {
    if (error instanceof CallerChanged) {
      if (attempt === MAX_AUTH_TRIES) throw new Failure('unavailable', { retryAfterSeconds: 1 })
      invalidateChanged(pipeline.auth.caches, caller?.kind === 'key' ? caller.id : incoming.params.storeId)
      return tryToHandle(pipeline, route, incoming, { rateLimit: null, turn: settled.turn }, attempt + 1)
    }
    if (!(error instanceof Failure)) throw error
    const render = route.browser && acceptsHtml(incoming) ? refusalPage : renderProblem
    return respond(call, render(error, incoming.requestId, incoming.path), headers)
  }
}

/**
 * Work that takes long waits for its turn before its body is parsed: that of 2 MiB takes a tenth of a second, in one piece.
 * A turn that was taken for a large body ends with that body (large-body.ts).
 */
async function inTurn<T>(pipeline: Pipeline, call: Call, taken: Turn | null, run: () => Promise<T>): Promise<T> {
  const { oneAtATime: kind } = call.route
  if (!kind) return run()
  const turn = taken ?? (await takeTurn(pipeline, kind, call))
  try {
    const leave = await turn.begin()
    return await run().finally(leave)
  } finally {
    if (turn !== taken) turn.release()
  }
}

/**
 * Callers are counted by their id, and requests without one by their address. Service tokens have a limit of their own, of
 * which nothing is told until it is reached: the fast path of verification (fast-verify.ts) writes no headers for it.
 */
export function takeToken(
  { rate, services }: Pipeline['limits'],
  caller: Caller | null,
  ip: string,
): RateLimitState | null {
  if (caller?.kind === 'service') return services.take(caller.id, issuedFor(caller))
  return (caller ? rate?.takeForCaller(caller.id) : rate?.takeForAddress(ip)) ?? null
}

export function checkRate(rateLimit: RateLimitState | null): void {
  if (rateLimit && !rateLimit.allowed) fail('rate_limited', { retryAfterSeconds: rateLimit.resetSeconds })
}
