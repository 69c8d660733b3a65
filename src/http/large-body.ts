// A body that is larger than others may be is read from those who may send it, and only when they may: it counts towards
// their rate limit and takes their turn before its first byte is read, whether or not the last one ever arrives.
//
// Its bytes and the turn are given back together, so nobody holds more bytes than their turns allow: two bodies for an
// account, and two for its keys. That is when the work is done, not when its answer has been read: a reader may take for ever.

import type { ServerResponse } from 'node:http'
import type { Route } from '../core/route.ts'
import type { HeldBody } from '../limits/large-bodies.ts'
import { identify } from './authenticate.ts'
import { authorize } from './authorize.ts'
import { header, type Incoming, type Pipeline } from './context.ts'
import { MAX_BODY_BYTES } from './input.ts'
import { type Turn, takeTurn } from './long-work.ts'
import { type Admitted, checkRate, takeToken } from './pipeline.ts'
import { identifying } from './shares.ts'

/**
 * A body that is no larger than any other is read at once. One of unknown size counts as the largest it may be. `letGo`
 * drops the body: it is called when its bytes count no longer.
 */
export async function admitLargeBody(
  pipeline: Pipeline,
  route: Route,
  incoming: Incoming,
  response: ServerResponse,
  maxBytes: number,
  letGo: () => void,
): Promise<Admitted | undefined> {
  const bytes = Math.min(Number(header(incoming, 'content-length') ?? maxBytes), maxBytes)
  if (bytes <= MAX_BODY_BYTES) return undefined
  const { caller, refusal } = await identifying(pipeline, incoming, () => identify(pipeline, route, incoming))
  const rateLimit = takeToken(pipeline.limits, caller, incoming.ip)
  checkRate(rateLimit)
  if (refusal) throw refusal
  authorize(pipeline.verifier, route, caller, incoming.params)
  const turn = await takeTurn(pipeline, 'import', { caller, incoming })
  const body = holdBytes(pipeline, turn, bytes, response)
  response.req.once('end', body.arrived)
  const during = untilOver(response, () => {
    turn.release()
    body.release()
    letGo()
  })
  return { rateLimit, turn, during }
}

function holdBytes({ limits }: Pipeline, turn: Turn, bytes: number, response: ServerResponse): HeldBody {
  try {
    const { socket } = response.req
    const before = socket.bytesRead
    const received = () => socket.bytesRead - before
    return limits.longWork.bodies.hold(bytes, turn.tenant, { cutOff: () => socket.destroy(), received })
  } catch (error) {
    turn.release()
    throw error
  }
}

/**
 * Releases when the work is over: it goes on for a caller who has disconnected, and needs the body until then. If it never
 * begins, because the body did not arrive or was refused, then when that is answered or the connection is closed.
 */
function untilOver(response: ServerResponse, release: () => void): Admitted['during'] {
  const ends = ['prefinish', 'close']
  const stopWaiting = () => {
    for (const end of ends) response.off(end, giveUp)
  }
  const giveUp = () => {
    stopWaiting()
    release()
  }
  if (response.destroyed) release()
  else for (const end of ends) response.on(end, giveUp)
  return async (work) => {
    stopWaiting()
    try {
      return await work()
    } finally {
      release()
    }
  }
}
