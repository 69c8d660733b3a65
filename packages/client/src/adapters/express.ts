// API keys for Express 4 and 5, and for upgrades to WebSockets on any server of Node.

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Request, RequestHandler } from 'express'
import { type KeySource, newGuard } from './authenticate.ts'
import { headerOf } from './node.ts'
import type { ApiKey, PolicyArgs } from './policy.ts'

export type { KeySource } from './authenticate.ts'
export type { ApiKey, KeyOptions } from './policy.ts'
export type { Refusal } from './refusals.ts'

declare global {
  namespace Express {
    interface Request {
      /** The key of the caller, on routes behind `requireKey`. */
      apiKey: ApiKey
    }
  }
}

/** Lets in requests with a valid key that has these permissions. The address is `req.ip`, by the setting `trust proxy`. */
export function requireKey(sk: KeySource, ...policy: PolicyArgs<[req: Request]>): RequestHandler {
  const guard = newGuard<[Request]>(sk, policy, {
    request: (req) => req,
    header: (name, req) => headerOf(req, name),
    ip: (req) => req.ip,
  })
  return (req, res, next) => {
    void guard(req as Request).then((decision) => {
      // Something else has answered already, such as a timeout.
      if (res.headersSent) return
      try {
        res.set(decision.headers)
        if (!decision.ok) {
          res.status(decision.status).end(decision.text)
          return
        }
        req.apiKey = decision.apiKey
      } catch (error) {
        next(error)
        return
      }
      next()
    })
  }
}

/**
 * For `server.on('upgrade', …)`: the key of the caller, or null when the request was refused and its socket closed. The
 * address is that of the connection, unless `ip` says otherwise.
 */
export function verifyUpgrade(
  sk: KeySource,
  ...policy: PolicyArgs<[request: IncomingMessage]>
): (request: IncomingMessage, socket: Duplex) => Promise<ApiKey | null> {
  const guard = newGuard<[IncomingMessage]>(sk, policy, {
    request: (request) => request,
    header: (name, request) => headerOf(request, name),
    ip: (request) => request.socket.remoteAddress,
  })
  return async (request, socket) => {
    // Without a listener, a caller who hangs up would end the process.
    const onError = () => socket.destroy()
    socket.on('error', onError)
    const decision = await guard(request)
    if (socket.destroyed) return null
    if (decision.ok) {
      socket.removeListener('error', onError)
      return decision.apiKey
    }
    const { status, headers, text } = decision
    const length = new TextEncoder().encode(text).length
    const lines = Object.entries({ ...headers, connection: 'close', 'content-length': length })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.end(`HTTP/1.1 ${status} Refused\r\n${head}\r\n${text}`)
    return null
  }
}
