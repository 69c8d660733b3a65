// API keys for handlers of the web standard: Next.js, Bun, Deno, Cloudflare Workers and everything else that turns a
// Request into a Response.

import { type KeySource, newGuard } from './authenticate.ts'
import type { ApiKey, KeyOptions } from './policy.ts'

export type { KeySource } from './authenticate.ts'
export type { ApiKey, KeyOptions } from './policy.ts'
export type { Refusal } from './refusals.ts'

/** `rest` is what the runtime gives beside the request: a context, an environment, the server. */
export type KeyHandler<Rest extends unknown[]> = (
  request: Request,
  identity: { apiKey: ApiKey },
  ...rest: Rest
) => Response | Promise<Response>

/**
 * A handler that is called only for requests with a valid key that has these permissions. The caller's address is not
 * known here: give `ip`, a function of the request and of what your runtime says about it.
 */
export function withKey<Rest extends unknown[] = []>(
  sk: KeySource,
  permissions: string | readonly string[],
  handler: KeyHandler<Rest>,
  options: KeyOptions<[request: Request, ...rest: Rest]> = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  const guard = newGuard<[Request, ...Rest]>(sk, [permissions, options], {
    request: (...[request]) => request,
    header: (name, ...[request]) => request.headers.get(name),
  })
  return async (request, ...rest) => {
    const decision = await guard(request, ...rest)
    const { headers } = decision
    if (!decision.ok) return new Response(decision.text, { status: decision.status, headers })
    return withHeaders(await handler(request, { apiKey: decision.apiKey }, ...rest), headers)
  }
}

/** Headers of a response that was fetched cannot be changed, and one that switches protocols cannot be made again. */
function withHeaders(response: Response, headers: Record<string, string>): Response {
  const added = Object.entries(headers)
  if (added.length === 0 || !response || response.status === 101) return response
  try {
    for (const [name, value] of added) response.headers.set(name, value)
    return response
  } catch {
    return withHeaders(new Response(response.body, response), headers)
  }
}
