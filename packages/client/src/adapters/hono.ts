// API keys for Hono, on every runtime.

import type { Context, MiddlewareHandler } from 'hono'
import { type KeySource, newGuard } from './authenticate.ts'
import type { ApiKey, PolicyArgs } from './policy.ts'

export type { KeySource } from './authenticate.ts'
export type { ApiKey, KeyOptions } from './policy.ts'
export type { Refusal } from './refusals.ts'

/** For `new Hono<KeyEnv>()`, where handlers are not given to the same call as `requireKey`. */
export type KeyEnv = { Variables: { apiKey: ApiKey } }

/**
 * Lets in requests with a valid key that has these permissions: `c.var.apiKey`. Hono does not know the caller's address on
 * its own: give `ip: getConnInfo` of your runtime's adapter, or a function that knows your proxy.
 */
export function requireKey(sk: KeySource, ...policy: PolicyArgs<[c: Context]>): MiddlewareHandler<KeyEnv> {
  const guard = newGuard<[Context]>(sk, policy, { request: (c) => c, header: (name, c) => c.req.header(name) })
  return async (c, next) => {
    const decision = await guard(c)
    if (!decision.ok) return new Response(decision.text, { status: decision.status, headers: decision.headers })
    c.set('apiKey', decision.apiKey)
    await next()
    for (const [name, value] of Object.entries(decision.headers)) c.header(name, value)
    return undefined
  }
}
