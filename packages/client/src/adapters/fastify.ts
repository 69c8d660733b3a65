// API keys for Fastify 5.

import type { FastifyPluginCallback, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { type KeySource, newGuard } from './authenticate.ts'
import { headerOf } from './node.ts'
import type { ApiKey, PolicyArgs } from './policy.ts'

export type { KeySource } from './authenticate.ts'
export type { ApiKey, KeyOptions } from './policy.ts'
export type { Refusal } from './refusals.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the caller, on routes behind `requireKey`. */
    apiKey: ApiKey
  }
}

/**
 * A hook for `onRequest`, before the body is read: lets in requests with a valid key that has these permissions. The
 * address is `request.ip`, by the option `trustProxy`.
 */
export function requireKey(sk: KeySource, ...policy: PolicyArgs<[request: FastifyRequest]>): onRequestAsyncHookHandler {
  const guard = newGuard<[FastifyRequest]>(sk, policy, {
    request: (request) => request,
    header: (name, request) => headerOf(request.raw, name),
    ip: (request) => request.ip,
    onError: (error, request) => request.log.error(error, 'An API key could not be verified'),
  })
  return async (request, reply) => {
    const decision = await guard(request)
    void reply.headers(decision.headers)
    if (!decision.ok) return reply.code(decision.status).send(decision.text)
    request.apiKey = decision.apiKey
  }
}

/** Register it once, and every request has a place for its key from the beginning, which is faster. */
export const apiKeys: FastifyPluginCallback = Object.assign(
  ((app, _, done) => {
    app.decorateRequest('apiKey')
    done()
  }) as FastifyPluginCallback,
  // For the whole application, not only for plugins below this one.
  { [Symbol.for('skip-override')]: true },
)
