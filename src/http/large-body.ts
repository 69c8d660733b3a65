// A body that is larger than others may be is read from those who may send it, and only when they may: it counts towards
// their rate limit and takes their turn before its first byte is read, whether or not the last one ever arrives.

import type { ServerResponse } from 'node:http'
import type { Route } from '../core/route.ts'
import { identify } from './authenticate.ts'
import { authorize } from './authorize.ts'
import { header, type Incoming, type Pipeline } from './context.ts'
import { MAX_BODY_BYTES } from './input.ts'
import { takeTurn } from './long-work.ts'
import { type Admitted, checkRate, takeToken } from './pipeline.ts'

/** A body that is no larger than any other is read at once. One of unknown size counts as the largest it may be. */
export async function admitLargeBody(
  pipeline: Pipeline,
  route: Route,
  incoming: Incoming,
  response: ServerResponse,
  maxBytes: number,
): Promise<Admitted | undefined> {
  const bytes = Math.min(Number(header(incoming, 'content-length') ?? maxBytes), maxBytes)
  if (bytes <= MAX_BODY_BYTES) return undefined
  const { caller, refusal } = await identify(pipeline, route, incoming)
  const rateLimit = takeToken(pipeline.limits, caller, incoming.ip)
  checkRate(rateLimit)
  if (refusal) throw refusal
  authorize(pipeline.verifier, route, caller, incoming.params)
  const turn = await takeTurn(pipeline, { caller, incoming })
  onceClosed(response, turn.release)
  const body = pipeline.limits.longWork.bodies.hold(bytes, () => response.req.socket.destroy())
  response.req.once('end', body.arrived)
  onceClosed(response, body.release)
  return { rateLimit, turn }
}

/** At once if it is closed already: the caller may have disconnected. */
function onceClosed(response: ServerResponse, run: () => void): void {
  if (response.destroyed) run()
  else response.once('close', run)
}
