// Requests that never reach the pipeline: heads that are malformed, errors of the framework, and bytes that are not HTTP.
// All are answered as problem+json, like everything else.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ERRORS, type ErrorCode, Failure } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { renderProblem, toFailure } from './problem.ts'
import { SAFE_HEADERS } from './response.ts'

export const MAX_HEADERS = 100

const SINGLE_HEADERS = [
  'host',
  'authorization',
  'content-type',
  'idempotency-key',
  'expected-user',
  'if-match',
  'origin',
  'cookie',
]

/** Node silently keeps the first of two such headers; sending two is a mistake, or an attack. */
export function checkHead({ rawHeaders: raw, headers, httpVersion, url = '' }: IncomingMessage): void {
  // The router takes "*" for "/".
  if (!/^(\/|https?:\/\/)/i.test(url)) throw new Failure('not_found')
  if (raw.length > 2 * MAX_HEADERS) throw new Failure('headers_too_large')
  if (headers.host === undefined && httpVersion === '1.1')
    throw new Failure('bad_request', { detail: 'The header "host" is missing.' })
  // `headers` has one entry for each name: as many entries as headers mean that no name was sent twice.
  if (raw.length === 2 * Object.keys(headers).length) return
  const seen = new Set<string>()
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    if (seen.has(name) && SINGLE_HEADERS.includes(name)) {
      const code = name === 'authorization' || name === 'cookie' ? 'invalid_request' : 'bad_request'
      throw new Failure(code, { detail: `The header "${name}" was sent twice. Send it once.` })
    }
    seen.add(name)
  }
}

export function failureOf(error: unknown, request: IncomingMessage): Failure {
  if (isFrameworkError(error)) return frameworkFailure(error)
  // A caller who disconnected in the middle of a body gets no answer, and it must not be logged as a failure of ours.
  return request.destroyed && !request.complete ? new Failure('bad_request') : toFailure(error)
}

type FrameworkError = { code?: string; statusCode?: number }

function isFrameworkError(error: unknown): error is FrameworkError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_')
}

const FRAMEWORK_CODES: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_ASYNC_CONSTRAINT: 'bad_request',
}

export function frameworkFailure(error: FrameworkError): Failure {
  const code = FRAMEWORK_CODES[error.code ?? ''] ?? ((error.statusCode ?? 500) < 500 ? 'bad_request' : 'internal_error')
  return new Failure(code, { cause: error })
}

const SOCKET_CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

const answered = new WeakSet<Socket>()
const LINGER_MS = 1_000

/** For bytes that are not HTTP: there is no request to answer, only a socket to write to and to close. */
export function answerClientError(error: { code: string }, socket: Socket): void {
  // The parser fails again on the rest of the bytes, while the socket lingers.
  if (answered.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code = SOCKET_CODES[error.code] ?? 'bad_request'
  const { body } = renderProblem(new Failure(code), newId('req'), '')
  const head = {
    ...SAFE_HEADERS,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${ERRORS[code].status} ${ERRORS[code].title}\r\n${lines.join('')}\r\n${body}`)
  answered.add(socket)
  // A client that is still sending would lose the answer if the socket closed at once: the rest is read and dropped.
  socket.removeAllListeners('data')
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
