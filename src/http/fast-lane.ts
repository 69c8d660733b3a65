// Verifying is what other systems hang on for each of their own requests, so it has a lane of its own past the framework:
// a service that is known asks a plain question. About a key that is known it is answered from memory, in the same turn
// of the event loop; any other key is looked up first. The answer is exactly what the walk would give (a test compares
// them byte for byte). Everything else, every doubt and every error goes on to the framework, with the body that was read
// already.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TSchema } from 'typebox'
import { knownService } from '../access/who.ts'
import { check } from '../check.ts'
import { newId } from '../ids.ts'
import type { Verdict } from '../keys/schema.ts'
import type { Route } from '../route.ts'
import { sha256 } from '../secrets.ts'
import { readJson } from './json.ts'
import type { Overload } from './overload.ts'
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
  overload: Overload
  draining: () => boolean
  headers: Record<string, string>
  longestBody: number
  /** The framework's way. */
  otherwise: (request: IncomingMessage, response: ServerResponse) => void
  answered: (seconds: number) => void
}

/** Kept with the verdict itself: with very many keys in turn, each further place to look is one more that is not at hand. */
const WRITTEN = Symbol('written')
type Written = { text: string; length: string; encoding: 'latin1' | 'utf8' }

export function newFastLane(parts: LaneParts): Lane {
  const { overload } = parts
  const { verifier } = parts.gate
  const schemas = schemasOf(parts.routes)
  const bodies = new WeakMap<IncomingMessage, Buffer>()
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

  function isKnown(authorization: string | undefined): boolean {
    return (
      authorization?.startsWith('Bearer ') === true &&
      knownService(parts.gate.db, parts.gate.known.callers, hashOf(authorization))
    )
  }

  /** The same verdict is the same answer. */
  function writtenFor(verdict: Verdict & { [WRITTEN]?: Written }): Written {
    const before = verdict[WRITTEN]
    if (before) return before
    const text = write(schemas.answer, verdict)
    const length = Buffer.byteLength(text)
    // What is ASCII need not be encoded.
    const made = { text, length: String(length), encoding: length === text.length ? 'latin1' : 'utf8' } as const
    verdict[WRITTEN] = made
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
    response.once('close', overload.done)
    try {
      overload.admit(FAST_PATH)
      return true
    } catch {
      return false
    }
  }

  return {
    take(request, response) {
      if (!fits(request)) return false
      const began = performance.now()
      const chunks: Buffer[] = []
      const answer = (verdict: Verdict) => {
        // Whoever has gone meanwhile hears nothing.
        if (response.destroyed) return
        const { text, length, encoding } = writtenFor(verdict)
        response.writeHead(200, [...headers, 'x-request-id', newId('req'), 'content-length', length])
        response.end(text, encoding)
        parts.answered((performance.now() - began) / 1000)
      }
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
        const handOn = () => {
          bodies.set(request, body)
          parts.otherwise(request, response)
        }
        const verdict = verdictOn(request, response, body)
        if (verdict === null) handOn()
        else if (verdict instanceof Promise) verdict.then(answer, handOn)
        else answer(verdict)
      })
      return true
    },
    read: (request) => bodies.get(request),
  }
}

function schemasOf(routes: Route[]): { question: TSchema; answer: TSchema } {
  const route = routes.find((row) => row.path === FAST_PATH)
  const answer = route?.returns[1]
  if (!route?.body || !answer) throw new Error(`There is no ${FAST_PATH} to have a lane for`)
  return { question: route.body, answer }
}

/** As a program writes it. ASCII, no escape and no member twice: there is nothing for the door to look at. */
const PLAIN = /^\{"key":"\w+"(?:,"permissions":\[(?:"\w+"(?:,"\w+")*)?\])?\}$/

/** Null for anything but a plain question without a fault. */
function readQuestion(schema: TSchema, body: Buffer): { key: string } | null {
  try {
    const text = body.toString('latin1')
    const read = PLAIN.test(text) ? JSON.parse(text) : readJson(body)
    const question = read as { key: string; ip?: string; explain?: boolean }
    // An address must be looked at, and an explanation takes its time: both are rare.
    const isPlain = check(schema, question).length === 0 && !question.explain && question.ip === undefined
    return isPlain ? question : null
  } catch {
    return null
  }
}
