// The service's routes for keys, answered from memory: a `fetch` for the client, so that what is tested runs all of it.

import type { KeyChanges, NewKey, Verdict, Verification } from '../api.gen.ts'
import { isStorekeeperError, StorekeeperError } from '../error.ts'
import type { FakeKeys } from './keys.ts'

type World = {
  keys: FakeKeys
  storeId: string
  now(): number
  verify(question: Verification): Verdict
  isDown(): boolean
  /** Told the ids of keys and stores that have changed. */
  listeners: Set<(id: string) => void>
}

type Call = { body: Record<string, unknown>; query: URLSearchParams; params: string[]; signal: AbortSignal | null }
type Route = [method: string, path: RegExp, answer: (call: Call) => Response]

const BEAT_MS = 500
const TRUST_MS = 1_500
const NODE = 'fake'
const CATALOGUE = 'fake'

export function fakeFetch(world: World): typeof fetch {
  const routes = routesOf(world)
  return async (input, init = {}) => {
    const request = new Request(input as string, init as RequestInit)
    const { pathname, searchParams: query } = new URL(request.url)
    try {
      if (world.isDown()) throw new StorekeeperError('unavailable', 'The fake is down.', { status: 503, retryAfter: 1 })
      for (const [method, path, answer] of routes) {
        const found = request.method === method && path.exec(pathname)
        if (!found) continue
        const text = await request.text()
        const body = text ? JSON.parse(text) : {}
        return answer({ body, query, params: found.slice(1).map(decodeURIComponent), signal: init?.signal ?? null })
      }
      const message = `fakeStorekeeper does not know ${request.method} ${pathname}.`
      throw new StorekeeperError('not_found', message, { status: 404 })
    } catch (error) {
      if (!isStorekeeperError(error)) throw error
      const { code, message: detail, status = 500, errors, retryAfter } = error
      const headers = { ...PROBLEM, ...(retryAfter ? { 'retry-after': String(retryAfter) } : {}) }
      return new Response(JSON.stringify({ code, title: code, status, detail, errors }), { status, headers })
    }
  }
}

const PROBLEM = { 'content-type': 'application/problem+json' }

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
}

function routesOf(world: World): Route[] {
  const { keys } = world
  const list = /^\/v1\/user\/store\/([^/]+)\/keys$/
  const one = /^\/v1\/user\/store\/([^/]+)\/keys\/(key_[^/]+)$/
  const ofStore = (params: string[]): [string, string] => {
    const [storeId = '', keyId = ''] = params
    if (keyId && keys.show(keyId).storeId !== storeId)
      throw new StorekeeperError('key_not_found', 'This store has no key with that id.', { status: 404 })
    return [storeId, keyId]
  }
  const freeze = (isFrozen: boolean) => (call: Call) =>
    json({ affected: keys.setFrozen(call.params[0] as string, isFrozen) })
  return [
    // The bodies are what the client has typed: a fake does not check them again.
    ['POST', /^\/v1\/keys\/verify$/, ({ body }) => json(world.verify(body as unknown as Verification))],
    ['POST', /^\/v1\/keys\/lease$/, ({ body }) => json(leaseOn(world, body as unknown as Verification))],
    ['POST', /^\/v1\/keys\/usage$/, () => json({})],
    ['GET', /^\/v1\/keys\/changes$/, ({ signal }) => streamOf(world, signal)],
    ['POST', list, ({ params: [storeId = ''], body }) => json(keys.create(storeId, body as Partial<NewKey>), 201)],
    ['GET', list, ({ params: [storeId = ''], query }) => json(pageOf(keys, storeId, query))],
    ['GET', one, ({ params }) => json(keys.show(ofStore(params)[1]))],
    ['PATCH', one, ({ params, body }) => json(keys.update(ofStore(params)[1], body as KeyChanges))],
    [
      'DELETE',
      one,
      ({ params, query }) => {
        const record = keys.revoke(ofStore(params)[1], query.get('reason'))
        return json({ ...record, effectiveBy: record.revokedAt, made: { keys: [], webhooks: [] } })
      },
    ],
    [
      'POST',
      /^\/v1\/user\/store\/([^/]+)\/keys\/(key_[^/]+)\/rotate$/,
      ({ params, body }) => json(keys.rotate(ofStore(params)[1], body.gracePeriodSeconds as number | undefined)),
    ],
    ['POST', /^\/v1\/user\/store\/([^/]+)\/keys\/freeze$/, freeze(true)],
    ['POST', /^\/v1\/user\/store\/([^/]+)\/keys\/unfreeze$/, freeze(false)],
  ]
}

function pageOf(
  keys: FakeKeys,
  storeId: string,
  query: URLSearchParams,
): { data: unknown[]; nextCursor: string | null } {
  const [from, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit') ?? 20)]
  const isListed = (name: string, value: string | null) => !query.has(name) || query.get(name) === value
  const listed = [...keys.keys.keys()]
    .map((id) => keys.show(id))
    .filter((key) => key.storeId === storeId && isListed('status', key.status))
    .filter((key) => isListed('type', key.type) && isListed('owner', key.owner))
    .reverse()
  return {
    data: listed.slice(from, from + limit),
    nextCursor: listed.length > from + limit ? String(from + limit) : null,
  }
}

// ---- what a verifier in the process asks for ----------------------------------------------------------------------------

function leaseOn(world: World, question: Verification): Verdict & { lease: object | null } {
  const found = world.keys.find(question)
  const verdict = world.verify(question)
  if (!found || !verdict.valid || !world.keys.mayBeKept(found)) return { ...verdict, lease: null }
  const { record } = found.stored
  const ends = [record.expiresAt && Date.parse(record.expiresAt), found.secret.endsAt].filter((end) => end !== null)
  const validForMs = ends.length > 0 ? Math.min(...ends.map(Number)) - world.now() : null
  const byAddress = record.ipAllowlist !== null
  return {
    ...verdict,
    lease: { ageMs: 0, validForMs, secret: found.secret.no, byAddress, node: NODE, catalogue: CATALOGUE },
  }
}

/** Without an end. What changed before it was opened is not told: a client that comes back forgets what it knew. */
function streamOf({ listeners }: World, signal: AbortSignal | null): Response {
  let id = 0
  const encoder = new TextEncoder()
  const at = performance.now()
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (event: string, data: object) => {
        id += 1
        controller.enqueue(encoder.encode(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`))
      }
      const changed = (changedId: string) => send('changed', { ids: [changedId] })
      const beats = setInterval(() => send('beat', { heardUpTo: performance.now() }), BEAT_MS)
      // Node's timers hold the process, and a test would not end.
      if (typeof beats === 'object') beats.unref()
      send('hello', {
        node: NODE,
        at,
        from: at,
        prefix: 'skp',
        catalogue: CATALOGUE,
        beatMs: BEAT_MS,
        trustMs: TRUST_MS,
      })
      send('beat', { heardUpTo: performance.now() })
      listeners.add(changed)
      signal?.addEventListener('abort', () => {
        clearInterval(beats)
        listeners.delete(changed)
        controller.error(signal.reason)
      })
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
