// One call: sent, repeated when that is safe and may help, and ended in time.

import { VERSION } from './api.gen.ts'
import { StorekeeperError, toError } from './error.ts'
import type { ClientOptions } from './options.ts'

const TIMEOUT_MS = 10_000
const QUESTION_TIMEOUT_MS = 2_000
const RETRIES = 2
/** The longest `Retry-After` that is waited for; of a longer one the caller is told at once. */
const MAX_RETRY_AFTER_S = 10
const MAX_TIMER_MS = 2 ** 31 - 1
/** More of an answer is not read: the service sends no more, whoever is in its place might. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const MAX_VERDICT_BYTES = 1024 * 1024
const [LEAST_WAIT_MS, FIRST_WAIT_MS, MOST_WAIT_MS] = [100, 500, 2_000]

export type Call = {
  method: string
  /** With its query. */
  path: string
  body?: string | undefined
  headers: Record<string, string>
  idempotencyKey?: string | undefined
  /** Doing it twice is as doing it once, and the second answer is as true as the first. */
  isSafe: boolean
  /** A question that a request of somebody else waits for. */
  isQuestion?: boolean | undefined
  signal?: AbortSignal | undefined
  timeout?: number | undefined
  retries?: number | undefined
}

export type Sender = Pick<ClientOptions, 'token' | 'timeout' | 'retries' | 'fetch'> & { base: string }

type Answer = { response: Response; body: unknown }

export async function send(sender: Sender, call: Call): Promise<Answer> {
  const most = call.isQuestion ? QUESTION_TIMEOUT_MS : Number.POSITIVE_INFINITY
  const timeout = call.timeout ?? Math.min(sender.timeout ?? TIMEOUT_MS, most)
  const bounds = boundsOf(timeout, call)
  try {
    return await sendUntilAnswered(sender, call, bounds)
  } finally {
    bounds.clear()
  }
}

async function sendUntilAnswered(sender: Sender, call: Call, bounds: Bounds): Promise<Answer> {
  const retries = call.retries ?? sender.retries ?? RETRIES
  let lost: StorekeeperError | undefined
  for (let tries = 1; ; tries++) {
    bounds.check()
    const outcome = await sendOnce(sender, call, bounds)
    if (!(outcome instanceof StorekeeperError)) return outcome
    if (lost && isDoubtful(call, outcome)) throw withCause(lost, outcome)
    const wait = waitAfter(outcome, tries)
    if (tries > retries || !mayRepeat(call, outcome) || wait >= bounds.left()) throw outcome
    if (mayHaveBeenDone(outcome)) lost = outcome
    await bounds.sleep(wait)
  }
}

/** The answer, or why there is none. What ends the whole call is thrown. */
async function sendOnce(sender: Sender, call: Call, bounds: Bounds): Promise<Answer | StorekeeperError> {
  const { method, path, body, idempotencyKey } = call
  const headers = await headersFor(sender, call)
  const ask = sender.fetch ?? fetch
  let response: Response
  let text: string | null
  try {
    const init: RequestInit = { ...fetchOptions(sender), method, headers, signal: bounds.signal }
    response = await ask(sender.base + path, body === undefined ? init : { ...init, body })
    text = await readText(response, call.isQuestion ? MAX_VERDICT_BYTES : MAX_ANSWER_BYTES)
  } catch (error) {
    bounds.check()
    return connectionFailed(sender, call, error)
  }
  const json = text === null ? undefined : parse(text)
  if (!response.ok || json === undefined) return toError(response, response.ok ? undefined : json, idempotencyKey)
  return { response, body: json }
}

/** The answer to a GET, as soon as its first bytes may come: server-sent events, unless it asks for something else. */
export async function openStream(
  sender: Sender,
  call: Pick<Call, 'path' | 'headers' | 'signal' | 'timeout'>,
): Promise<Response> {
  const wholeCall = { ...call, method: 'GET', isSafe: true }
  const bounds = boundsOf(call.timeout ?? TIMEOUT_MS, { ...wholeCall, signal: undefined })
  // The timer ends the wait for the answer, the caller's signal also the stream.
  const ending = new AbortController()
  const end = () => ending.abort(call.signal?.reason)
  const giveUp = () => ending.abort(bounds.signal.reason)
  bounds.signal.addEventListener('abort', giveUp, { once: true })
  call.signal?.addEventListener('abort', end, { once: true })
  if (call.signal?.aborted) end()
  try {
    const headers = await headersFor(sender, {
      ...wholeCall,
      headers: { accept: 'text/event-stream', ...call.headers },
    })
    const ask = sender.fetch ?? fetch
    const response = await ask(sender.base + call.path, { ...fetchOptions(sender), headers, signal: ending.signal })
    if (response.ok && response.body) return response
    const text = await readText(response, MAX_ANSWER_BYTES)
    throw toError(response, (text && parse(text)) || undefined, undefined)
  } catch (error) {
    bounds.check()
    throw error instanceof StorekeeperError ? error : connectionFailed(sender, wholeCall, error)
  } finally {
    bounds.signal.removeEventListener('abort', giveUp)
    bounds.clear()
  }
}

// ---- what may be repeated ---------------------------------------------------------------------------------------------

function mayRepeat(call: Call, { code, status = 0 }: StorekeeperError): boolean {
  const mayHelp =
    code === 'connection_failed' ||
    code === 'idempotency_in_progress' ||
    (code === 'invalid_response' && status < 300) ||
    status === 408 ||
    status === 429 ||
    status >= 500
  const wasRefused = status === 429 || code === 'overloaded'
  return mayHelp && (wasRefused || hasOneAnswer(call) || isRepeatable(call))
}

/** However often it is sent, its answer is that of the first time, or as true. */
function hasOneAnswer({ isSafe, idempotencyKey }: Call): boolean {
  return isSafe || idempotencyKey !== undefined
}

/** Sent twice it changes no more than once, but may be answered otherwise; under If-Match surely so. */
function isRepeatable({ method, headers }: Call): boolean {
  return (method === 'PATCH' || method === 'DELETE') && headers['if-match'] === undefined
}

function mayHaveBeenDone({ code, status = 0 }: StorekeeperError): boolean {
  return code === 'connection_failed' || code === 'invalid_response' || (status >= 500 && code !== 'overloaded')
}

/** After a try that may have been done: whether this refusal may be no more than its result, such as a 404 for what is gone. */
function isDoubtful(call: Call, { status = 0 }: StorekeeperError): boolean {
  return !hasOneAnswer(call) && [401, 403, 404, 409, 410, 412].includes(status)
}

function withCause(lost: StorekeeperError, later: StorekeeperError): StorekeeperError {
  const { code, status, requestId, retryAfter } = lost
  const message = `${lost.message} It may have been done: the next try was answered "${later.code}".`
  return new StorekeeperError(code, message, { status, requestId, retryAfter, cause: later })
}

/** Milliseconds until the next try. A connection that was closed while it lay idle is made anew at once. */
function waitAfter({ code, retryAfter }: StorekeeperError, tries: number): number {
  if (retryAfter !== undefined)
    return retryAfter > MAX_RETRY_AFTER_S ? Number.POSITIVE_INFINITY : retryAfter * 1000 + Math.random() * LEAST_WAIT_MS
  if (code === 'connection_failed' && tries === 1) return 0
  const most = Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1))
  return LEAST_WAIT_MS + Math.random() * (most - LEAST_WAIT_MS)
}

// ---- the time of a call -----------------------------------------------------------------------------------------------

type Bounds = {
  signal: AbortSignal
  /** Throws when the call has to end. */
  check(): void
  /** Milliseconds. */
  left(): number
  /** Until the time is over, or the call has to end. */
  sleep(ms: number): Promise<void>
  clear(): void
}

/** The timers hold the process, since somebody waits for the answer, and are gone with the call. */
function boundsOf(timeout: number, { signal, idempotencyKey, method, path }: Omit<Call, 'timeout'>): Bounds {
  const controller = new AbortController()
  const deadline = performance.now() + timeout
  let ended: StorekeeperError | undefined
  const end = (code: 'timeout' | 'aborted', text: string, cause?: unknown) => {
    ended ??= new StorekeeperError(code, `${method} ${withoutQuery(path)}: ${text}.`, { idempotencyKey, cause })
    controller.abort(ended)
  }
  const abort = () => end('aborted', 'ended by its signal', signal?.reason)
  const giveUp = () => end('timeout', `no answer within ${timeout} ms`)
  // Longer than a timer can run: without an end.
  const timer = timeout <= MAX_TIMER_MS ? setTimeout(giveUp, timeout) : undefined
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted) abort()
  return {
    signal: controller.signal,
    check: () => {
      if (ended) throw ended
    },
    left: () => deadline - performance.now(),
    sleep: (ms) => sleep(ms, controller.signal),
    clear: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    },
  }
}

/** Ends early, without an error, when the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, ms)
    signal.addEventListener('abort', over)
    if (signal.aborted) over()
  })
}

// ---- what is sent, and what came ----------------------------------------------------------------------------------------

/** A token goes where it was meant to go, so no redirect is followed; and in a browser without a cookie beside it. */
function fetchOptions({ token }: Sender): RequestInit {
  const alone: RequestInit = token !== undefined && 'document' in globalThis ? { credentials: 'omit' } : {}
  return { ...alone, redirect: 'manual' }
}

async function headersFor({ token }: Sender, { headers, idempotencyKey }: Call): Promise<Record<string, string>> {
  const all: Record<string, string> = { accept: 'application/json', ...USER_AGENT, ...headers }
  if (token !== undefined) all.authorization = `Bearer ${checkToken(typeof token === 'string' ? token : await token())}`
  if (idempotencyKey !== undefined) all['idempotency-key'] = idempotencyKey
  return all
}

/** Before it comes into a header: the error of a header that is not allowed would show it. */
export function checkToken(token: string): string {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('The token is empty, or has characters that no token has, such as a line break at its end.')
  return token
}

type Runtime = { process?: { versions?: Record<string, string> }; Deno?: { version: { deno: string } } }

/** Browsers say who they are themselves. */
const USER_AGENT = ((): Record<string, string> => {
  const { process, Deno } = globalThis as Runtime
  const { bun, node } = process?.versions ?? {}
  const runtime = bun ? `bun/${bun}` : Deno ? `deno/${Deno.version.deno}` : node && `node/${node}`
  return runtime ? { 'user-agent': `storekeeper-js/${VERSION} ${runtime}` } : {}
})()

/** Null when there is more of it. */
async function readText(response: Response, maxBytes: number): Promise<string | null> {
  // Some runtimes have it only as a whole.
  if (!response.body) return response.text()
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > maxBytes) {
      await reader.cancel()
      return null
    }
    text += decoder.decode(value, { stream: true })
  }
}

function parse(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function connectionFailed(sender: Sender, { method, path, idempotencyKey }: Call, error: unknown): StorekeeperError {
  const { cause } = error as { cause?: { code?: unknown } }
  const reason = typeof cause?.code === 'string' ? ` (${cause.code})` : ''
  const message = `${method} ${withoutQuery(path)}: no answer from ${sender.base}${reason}.`
  return new StorekeeperError('connection_failed', message, { idempotencyKey, cause: error })
}

/** A query may name customers: it does not belong into logs. */
function withoutQuery(path: string): string {
  return path.split('?', 1)[0] as string
}
