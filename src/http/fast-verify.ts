// Verifying is what other systems hang on for each of their own requests, so it has a lane of its own past the framework:
// a service that is known asks a plain question. About a key that is known it is answered from memory, in the same turn
// of the event loop; any other key is looked up first. The answer is exactly what the walk would give (a test compares
// them byte for byte). Everything else, every doubt and every error goes on to the framework, with the body that was read
// already.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TSchema } from 'typebox'
import { isCachedService } from '../auth/authenticate.ts'
import { newId } from '../core/ids.ts'
import type { Route } from '../core/route.ts'
import { sha256 } from '../crypto/tokens.ts'
import { VERIFY_PATH, type Verdict } from '../keys/schema.ts'
import type { LoadShedder } from '../limits/load-shedding.ts'
import { validate } from '../schema/validate.ts'
import { parseStrictJson } from './json.ts'
import { type Pipeline, serialize } from './pipeline.ts'

export type FastPath = {
  /** False when the request is not for this lane. */
  tryHandle(request: IncomingMessage, response: ServerResponse): boolean
  /** What was read of a body before the request was handed on. */
  bufferedBody(request: IncomingMessage): Buffer | undefined
}

export type FastVerifyParts = {
  pipeline: Pipeline
  routes: Route[]
  loadShedder: LoadShedder
  draining: () => boolean
  headers: Record<string, string>
  longestBody: number
  /** The framework's way. */
  fallback: (request: IncomingMessage, response: ServerResponse) => void
  answered: (seconds: number) => void
}

/** Kept with the verdict itself: with very many keys in turn, each further place to look is one more that is not at hand. */
const SERIALIZED = Symbol('written')
type Serialized = { text: string; length: string; encoding: 'latin1' | 'utf8' }

export function newFastVerify(parts: FastVerifyParts): FastPath {
  const { loadShedder } = parts
  const { verifier } = parts.pipeline
  const schemas = schemasOf(parts.routes)
  const bodies = new WeakMap<IncomingMessage, Buffer>()
  const headers = Object.entries({ ...parts.headers, 'content-type': 'application/json; charset=utf-8' }).flat()

  function isEligible({ method, url, headers, rawHeaders }: IncomingMessage): boolean {
    return (
      url === VERIFY_PATH &&
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

  function isKnown(authorization: string | undefined): boolean {
    return (
      authorization?.startsWith('Bearer ') === true &&
      isCachedService(parts.pipeline.db, parts.pipeline.caches.callers, hashOf(authorization))
    )
  }

  /** The same verdict is the same answer. */
  function serializedFor(verdict: Verdict & { [SERIALIZED]?: Serialized }): Serialized {
    const before = verdict[SERIALIZED]
    if (before) return before
    const text = serialize(schemas.answer, verdict)
    const length = Buffer.byteLength(text)
    // What is ASCII need not be encoded.
    const made = { text, length: String(length), encoding: length === text.length ? 'latin1' : 'utf8' } as const
    verdict[SERIALIZED] = made
    return made
  }

  /** Null when somebody else has to answer. */
  function verdictOn(request: IncomingMessage, response: ServerResponse, body: Buffer) {
    const question = isKnown(request.headers.authorization) ? readQuestion(schemas.question, body) : null
    if (!question) return null
    return verifier.verifyNow(question) ?? (isAdmitted(response) ? verifier.verify(question) : null)
  }

  /** Whoever has to wait is counted, as everywhere. */
  function isAdmitted(response: ServerResponse): boolean {
    response.once('close', loadShedder.release)
    try {
      loadShedder.admit('high')
      return true
    } catch {
      return false
    }
  }

  return {
    tryHandle(request, response) {
      if (!isEligible(request)) return false
      const began = performance.now()
      const chunks: Buffer[] = []
      const answer = (verdict: Verdict) => {
        // Whoever has gone meanwhile hears nothing.
        if (response.destroyed) return
        const { text, length, encoding } = serializedFor(verdict)
        response.writeHead(200, [...headers, 'x-request-id', newId('req'), 'content-length', length])
        response.end(text, encoding)
        parts.answered((performance.now() - began) / 1000)
      }
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
        const delegate = () => {
          bodies.set(request, body)
          parts.fallback(request, response)
        }
        const verdict = verdictOn(request, response, body)
        if (verdict === null) delegate()
        else if (verdict instanceof Promise) verdict.then(answer, delegate)
        else answer(verdict)
      })
      return true
    },
    bufferedBody: (request) => bodies.get(request),
  }
}

function schemasOf(routes: Route[]): { question: TSchema; answer: TSchema } {
  const route = routes.find((row) => row.path === VERIFY_PATH)
  const answer = route?.returns[1]
  if (!route?.body || !answer) throw new Error(`There is no ${VERIFY_PATH} to have a lane for`)
  return { question: route.body, answer }
}

/** As a program writes it. ASCII, no escape and no member twice: there is nothing for the door to look at. */
const PLAIN = /^\{"key":"\w+"(?:,"permissions":\[(?:"\w+"(?:,"\w+")*)?\])?\}$/

/** Null for anything but a plain question without a fault. */
function readQuestion(schema: TSchema, body: Buffer): { key: string } | null {
  try {
    const text = body.toString('latin1')
    const read = PLAIN.test(text) ? JSON.parse(text) : parseStrictJson(body)
    const question = read as { key: string; ip?: string; explain?: boolean }
    // An address must be looked at, and an explanation takes its time: both are rare.
    const isPlain = validate(schema, question).length === 0 && !question.explain && question.ip === undefined
    return isPlain ? question : null
  } catch {
    return null
  }
}
