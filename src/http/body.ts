// The bytes of a body, as they arrive. They are gathered in one place: as a list, pieces of one byte each would take a hundred
// times what was sent. Whoever sends such pieces by the thousand is cut off: each costs as much as a whole packet would.

import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Failure } from '../core/errors.ts'
import { MAX_BODY_BYTES } from './input.ts'

const MAX_SMALL_PIECES = 1_000
const SMALL_BYTES = 16

export type BodyBuffer = {
  add(piece: Buffer): void
  length(): number
  /** It comes in so many small pieces that its sender must be up to something. */
  isTrickling(): boolean
  bytes(): Buffer
}

export function newBodyBuffer(): BodyBuffer {
  let kept: Buffer | null = null
  let length = 0
  let pieces = 0
  return {
    add(piece) {
      pieces += 1
      // Most bodies come in one piece, which is not copied.
      if (kept === null) kept = piece
      else {
        if (length + piece.length > kept.length) kept = grown(kept.subarray(0, length), length + piece.length)
        piece.copy(kept, length)
      }
      length += piece.length
    },
    length: () => length,
    isTrickling: () => pieces > MAX_SMALL_PIECES && length < SMALL_BYTES * pieces,
    bytes: () => kept?.subarray(0, length) ?? Buffer.alloc(0),
  }
}

function grown(bytes: Buffer, min: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(min, 2 * bytes.length))
  bytes.copy(larger)
  return larger
}

/** The framework's request. It builds `routeOptions` anew at each access. */
type BodyRequest = { raw: IncomingMessage; routeOptions: { bodyLimit: number } }

export function readBody(
  request: BodyRequest,
  payload: Readable,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  const { headers, socket } = request.raw
  const announced = headers['content-length'] === undefined ? null : Number(headers['content-length'])
  // On a few routes it may be larger.
  const isSmall = announced !== null && announced <= MAX_BODY_BYTES
  const max = isSmall ? MAX_BODY_BYTES : request.routeOptions.bodyLimit
  if (announced !== null && announced > max) return done(new Failure('body_too_large'))
  // Null once it was handed on: the request, and so these listeners, may live on for as long as its answer is read.
  let body: BodyBuffer | null = newBodyBuffer()
  const end = (error: Error | null) => {
    const bytes = body?.bytes()
    body = null
    if (bytes) done(error, bytes)
  }
  payload.on('data', (piece: Buffer) => {
    if (!body) return
    body.add(piece)
    if (body.length() > max) end(new Failure('body_too_large'))
    else if (body.isTrickling()) socket.destroy()
  })
  payload.once('end', () => end(null))
  payload.once('error', end)
}
