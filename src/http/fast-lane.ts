// Verifying is what other systems hang on for each of their own requests, so it has a lane of its own past the framework:
// a service that is known asks about a key that is known, and is answered from memory in the same turn of the event loop.
// The lane only ever answers what it can answer at once, and then exactly as the walk would (a test compares them byte for
// byte). Everything else, every doubt and every error goes on to the framework, with the body that was read already.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { knownService } from '../access/who.ts'
import { check } from '../check.ts'
import { newId } from '../ids.ts'
import type { Route } from '../route.ts'
import { sha256 } from '../secrets.ts'
import { readJson } from './json.ts'
import { type Gate, write } from './walk.ts'

export const FAST_PATH = '/v1/keys/verify'

export type Lane = {
  /** False when the request is not for this lane. */
  take(request: IncomingMessage, response: ServerResponse): boolean
  /** What was read of a body before the request was handed on. */
  read(request: IncomingMessage): Buffer | undefined
}

export type LaneParts = {
  gate: Gate
  routes: Route[]
  draining: () => boolean
  headers: Record<string, string>
  longestBody: number
  /** The framework's way. */
  otherwise: (request: IncomingMessage, response: ServerResponse) => void
  answered: (seconds: number) => void
}

export function newFastLane(parts: LaneParts): Lane {
  const route = parts.routes.find((row) => row.path === FAST_PATH)
  const bodies = new WeakMap<IncomingMessage, Buffer>()
  /** The same verdict is the same text. */
  const texts = new WeakMap<object, string>()
  const headers = Object.entries({ ...parts.headers, 'content-type': 'application/json; charset=utf-8' }).flat()

  function fits({ method, url, headers, rawHeaders }: IncomingMessage): boolean {
    return (
      url === FAST_PATH &&
      method === 'POST' &&
      headers['content-type'] === 'application/json' &&
      headers['content-encoding'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      headers.cookie === undefined &&
      headers.origin === undefined &&
      headers.host !== undefined &&
      Number(headers['content-length']) <= parts.longestBody &&
      // No header twice.
      rawHeaders.length === 2 * Object.keys(headers).length &&
      !parts.draining()
    )
  }

  // Of the one who asked last, who mostly asks again.
  let last = { authorization: '', hash: '' }
  function hashOf(authorization: string): string {
    if (last.authorization !== authorization)
      last = { authorization, hash: sha256(authorization.slice('Bearer '.length)).toString('hex') }
    return last.hash
  }

  function answer(authorization: string | undefined, body: Buffer): string | null {
    if (!route?.body || !authorization?.startsWith('Bearer ')) return null
    if (!knownService(parts.gate.db, parts.gate.known.callers, hashOf(authorization))) return null
    const question = readQuestion(route, body)
    const verdict = question && parts.gate.verifier.verifyNow(question)
    if (!verdict) return null
    const before = texts.get(verdict)
    if (before !== undefined) return before
    const text = write(route.returns[1] as never, verdict)
    texts.set(verdict, text)
    return text
  }

  return {
    take(request, response) {
      if (!fits(request)) return false
      const began = performance.now()
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
        const text = answer(request.headers.authorization, body)
        if (text === null) {
          bodies.set(request, body)
          parts.otherwise(request, response)
          return
        }
        const length = String(Buffer.byteLength(text))
        response.writeHead(200, [...headers, 'x-request-id', newId('req'), 'content-length', length])
        response.end(text)
        parts.answered((performance.now() - began) / 1000)
      })
      return true
    },
    read: (request) => bodies.get(request),
  }
}

/** Null for anything but a plain question without a fault. */
function readQuestion(route: Route, body: Buffer): { key: string } | null {
  try {
    const question = readJson(body) as { key: string; ip?: string; explain?: boolean }
    // An address must be looked at, and an explanation takes its time: both are rare.
    const isPlain = check(route.body as never, question).length === 0 && !question.explain && question.ip === undefined
    return isPlain ? question : null
  } catch {
    return null
  }
}
