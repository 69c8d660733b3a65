// API keys for Koa.

import type { DefaultContext, Middleware, ParameterizedContext } from 'koa'
import { type KeySource, newGuard } from './authenticate.ts'
import { headerOf } from './node.ts'
import type { ApiKey, PolicyArgs } from './policy.ts'

export type { KeySource } from './authenticate.ts'
export type { ApiKey, KeyOptions } from './policy.ts'
export type { Refusal } from './refusals.ts'

/** For `new Koa<KeyState>()`. */
export type KeyState = { apiKey: ApiKey }

type KeyContext = ParameterizedContext<KeyState, DefaultContext>

/** Lets in requests with a valid key that has these permissions: `ctx.state.apiKey`. The address is `ctx.ip`, by `app.proxy`. */
export function requireKey(sk: KeySource, ...policy: PolicyArgs<[ctx: KeyContext]>): Middleware<KeyState> {
  const guard = newGuard<[KeyContext]>(sk, policy, {
    request: (ctx) => ctx.req,
    header: (name, ctx) => headerOf(ctx.req, name),
    ip: (ctx) => ctx.ip,
    onError: (error, ctx) => ctx.app.emit('error', error, ctx),
  })
  return async (ctx, next) => {
    const decision = await guard(ctx)
    ctx.set(decision.headers)
    if (!decision.ok) {
      ctx.status = decision.status
      ctx.body = decision.text
      return
    }
    ctx.state.apiKey = decision.apiKey
    await next()
  }
}
