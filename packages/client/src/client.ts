/// <reference lib="esnext.disposable" preserve="true" />
// The client: methods made from the table of operations, and what they share.

import type { Api, EventsStreamQuery, StoreApi, Verification } from './api.gen.ts'
import { OPERATIONS } from './api.gen.ts'
import { StorekeeperError } from './error.ts'
import type { StoreEvent } from './event-types.ts'
import { listOf, type PageOf } from './list.ts'
import type { CallOptions, ClientOptions, ReadOptions, RequestOptions } from './options.ts'
import { type Call, checkToken, openStream, type Sender, send } from './request.ts'
import type { Transport, Verifier } from './transport.ts'
import { askingVerifier, inProcessVerifier } from './verifier.ts'

/** The operations of one store. */
export type StoreClient = StoreApi & {
  readonly id: string
  events: {
    /**
     * The events of the store as they happen, oldest first, without an end: after the event whose id is `after`, or from
     * now on. A connection that breaks is made again, and nothing is missed or told twice.
     */
    follow(
      query?: EventsStreamQuery,
      options?: Pick<ReadOptions, 'signal'>,
    ): AsyncGenerator<StoreEvent, void, undefined>
  }
}

export type Storekeeper = Api & {
  user: {
    /**
     * The bytes of `user.export()` as they come, for a file of any size. Reading fails when the connection breaks before
     * the end. `timeout` is that of the first byte.
     */
    download(options?: Pick<ReadOptions, 'signal' | 'timeout'>): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>
  }
  readonly url: string
  /** As given: the store of calls that name none. */
  readonly storeId: string | undefined
  /** As given: whether verifiers work in this process. */
  readonly inProcess: boolean
  /** The operations of one store: that of `storeId` unless another is named. */
  store(id?: string): StoreClient
  /** Verifies keys: in this process if the client or the options say so, else by asking each time. */
  verifier(options?: { inProcess?: boolean }): Verifier
  /** Any request, for what has no method here. */
  request<Answer = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** Ends streams and verifiers, and waits for the calls that are under way; later ones throw `closed`. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export function storekeeper(options: ClientOptions): Storekeeper {
  const { storeId, inProcess = false } = options
  const sender: Sender = { ...options, base: baseOf(options.url) }
  if (typeof sender.token === 'string') checkToken(sender.token)
  const closing = new AbortController()
  const pending = new Set<Promise<unknown>>()
  let shared: Verifier | undefined

  const track = <Value>(promise: Promise<Value>): Promise<Value> => {
    const settled: Promise<unknown> = promise.then(forget, forget)
    function forget() {
      pending.delete(settled)
    }
    pending.add(settled)
    return promise
  }
  const run: Run = async (call) => {
    if (closing.signal.aborted) throw new StorekeeperError('closed', 'This client was closed.')
    const { response, body } = await track(send(sender, call))
    const etag = response.headers.get('etag')
    if (etag && typeof body === 'object' && body !== null) tags.set(body, etag)
    return body ?? undefined
  }
  const transport: Transport = {
    // The answer is what the caller says it is: answers are not checked.
    request: async (method, path, given = {}) => (await run(rawCall(method, path, given))) as never,
    openStream: (path, { query, headers = {}, signal, timeout }) =>
      openStream(sender, { path: path + queryOf(query), headers, signal, timeout }),
    closing: closing.signal,
    storeId,
  }
  const close = async () => {
    try {
      // It has its last calls to make.
      await shared?.close()
    } finally {
      closing.abort()
    }
    await Promise.all(pending)
  }

  const api = methods(OPERATIONS_OF.service, [], run) as unknown as Pick<Storekeeper, keyof Api>
  api.user.download = async ({ signal, timeout } = {}) => {
    const call = { headers: { accept: 'application/json' }, signal, timeout }
    const { body } = await openStream(sender, { path: '/v1/user/export', ...call })
    return body as ReadableStream<Uint8Array<ArrayBuffer>>
  }
  const { verify } = api.keys
  api.keys.verify = (question, call) => verify(inStore(question, storeId), call)
  return {
    ...api,
    url: sender.base,
    storeId,
    inProcess,
    store: (id = storeId) => {
      const given = checkParameter('storeId', id)
      const store = methods(OPERATIONS_OF.store, [given], run) as unknown as StoreClient
      const path = `/v1/user/store/${encodeURIComponent(given)}/events/stream`
      // Loaded when it is used: most who call the service follow nothing, and a page has it only then.
      store.events.follow = async function* (query = {}, { signal } = {}) {
        const { followEvents } = await import('./events.ts')
        yield* followEvents(transport, store, path, query, signal)
      }
      return Object.assign(store, { id: given })
    },
    verifier: (given = {}) => {
      if (!(given.inProcess ?? inProcess)) return askingVerifier(api.keys.verify)
      // One for each client: it keeps keys and a connection.
      shared ??= inProcessVerifier(transport, api.keys.verify)
      return shared
    },
    request: transport.request,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function inStore(question: Verification, storeId: string | undefined): Verification {
  const { storeId: given = storeId, ...rest } = question
  return given === undefined || question.anyStore ? question : { ...rest, storeId: given }
}

// ---- methods from the table -------------------------------------------------------------------------------------------

type Run = (call: Call) => Promise<unknown>
type Operation = { id: string; method: string; path: string; flags: string; queryNames: string[] }

const OPERATIONS_OF = (() => {
  const all = Object.entries(OPERATIONS).map(([id, row]): Operation => {
    const [method = '', path = '', flags = '', queryNames = ''] = row.split(' ')
    return { id, method, path, flags, queryNames: queryNames.split(',') }
  })
  const isOfStore = ({ id, path }: Operation) => path.includes(':storeId') && !id.startsWith('stores.')
  return { store: all.filter(isOfStore), service: all.filter((operation) => !isOfStore(operation)) }
})()

type Method = (...args: unknown[]) => unknown
type Methods = { [name: string]: Methods | Method }

/** `customers.addresses.create` becomes a function two levels deep. `given` are the first parameters of every path. */
function methods(operations: Operation[], given: string[], run: Run): Methods {
  const root: Methods = {}
  for (const operation of operations) {
    const names = operation.id.split('.')
    const last = names.pop() as string
    let branch = root
    for (const name of names) branch = (branch[name] ??= {}) as Methods
    const method: Method = (...args) => invoke(operation, [...given, ...args], run)
    // What answers with a promise also refuses by it; a list refuses at once.
    branch[last] = operation.flags.includes('p') ? method : async (...args) => method(...args)
  }
  return root
}

function invoke({ id, method, path, flags, queryNames }: Operation, args: unknown[], run: Run): unknown {
  const at = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(checkParameter(`${id}: ${name}`, args.shift())))
  const input = /[bq]/.test(flags) ? args.shift() : {}
  if (input === undefined ? !flags.includes('o') : typeof input !== 'object' || input === null)
    throw new TypeError(`${id} needs an object as its input.`)
  const options = (args.shift() ?? {}) as CallOptions
  const [body, query] = divide(input as object | undefined, flags, queryNames)
  const carried = flags.includes('f') ? formBody(body ?? {}) : jsonBody(body)
  const call = (search?: object) => run(callOf(method, at + queryOf(search), flags, carried, options))
  if (!flags.includes('p')) return call(query)
  return listOf(query ?? {}, (page) => call(page) as Promise<PageOf<unknown>>, options)
}

/** The body and the query of an input; where an operation has both, they are given as one object. */
function divide(
  input: object | undefined,
  flags: string,
  queryNames: string[],
): [object | undefined, object | undefined] {
  if (!flags.includes('b')) return [undefined, input]
  if (!flags.includes('q')) return [input, undefined]
  const entries = Object.entries(input ?? {})
  const isQuery = ([name]: [string, unknown]) => queryNames.includes(name)
  return [Object.fromEntries(entries.filter((entry) => !isQuery(entry))), Object.fromEntries(entries.filter(isQuery))]
}

/** Of an operation without parameters in its path we know what it is; of others only what their method says. */
function rawCall(method: string, path: string, { query, body, ...options }: RequestOptions): Call {
  if (!path.startsWith('/')) throw new TypeError(`A path begins with a slash: ${path}`)
  const known = OPERATIONS_OF.service.find((operation) => operation.method === method && operation.path === path)
  const flags = known?.flags ?? (/^(GET|HEAD|PUT)$/.test(method) ? 's' : method === 'POST' ? 'k' : '')
  return callOf(method, path + queryOf(query), flags, jsonBody(body), options)
}

function callOf(method: string, path: string, flags: string, carried: Carried, options: CallOptions): Call {
  const { ifMatch: _, ...rest } = options
  return {
    ...rest,
    ...carried,
    method,
    path,
    headers: { ...carried.headers, ...ifMatchHeader(options) },
    idempotencyKey: options.idempotencyKey ?? (flags.includes('k') ? newKey() : undefined),
    isSafe: flags.includes('s'),
    isQuestion: flags.includes('v'),
  }
}

// ---- the parts of a request ---------------------------------------------------------------------------------------------

function baseOf(url: string | URL): string {
  const { protocol, username, password, search, hash, origin, pathname } = new URL(url)
  if (!/^https?:$/.test(protocol) || username || password || search || hash)
    throw new TypeError('The url is that of the service alone, such as https://keys.example.com')
  return origin + pathname.replace(/\/+$/, '')
}

/** One segment of a path. `.` and `..` would lead to another one, and an empty one to the list above it. */
function checkParameter(name: string, value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || /^\.{0,2}$/.test(text))
    throw new TypeError(`${name} is missing, or cannot stand in a path.`)
  return text
}

function queryOf(query: object | undefined): string {
  const search = formOf(query ?? {})
  return search ? `?${search}` : ''
}

function formOf(values: object): string {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== null)
  const text = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value))
  return String(new URLSearchParams(entries.map(([name, value]): [string, string] => [name, text(value)])))
}

type Carried = { body?: string; headers: Record<string, string> }

function jsonBody(body: unknown): Carried {
  if (body === undefined) return { headers: {} }
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

function formBody(body: object): Carried {
  return { body: formOf(body), headers: { 'content-type': 'application/x-www-form-urlencoded' } }
}

const tags = new WeakMap<object, string>()

/** The ETag with which a record was answered: changes whenever somebody changes the record. */
export function etagOf(record: object): string | undefined {
  return tags.get(record)
}

function ifMatchHeader({ ifMatch }: CallOptions): Record<string, string> {
  if (ifMatch === undefined) return {}
  const tag = typeof ifMatch === 'string' ? ifMatch : tags.get(ifMatch)
  if (tag === undefined) throw new TypeError('ifMatch: give the record as this client has answered it, or its ETag.')
  return { 'if-match': tag }
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
