// npm run stress:requests: what the worst requests cost, route by route: the processor time of the service's main thread,
// which does nothing else meanwhile, beside that of the route's plain example. Bodies are as long as the route takes, queries
// and headers as long as they may be; each is tried again while it takes long, and the least counts.
//
//   ONLY         a regular expression: which routes, by "METHOD /path"    (default: all that can be called again and again)
//   MAX_MS       what a request of 64 KiB may take                        (default   30)
//   MAX_LARGE_MS what a request of 2 MiB may take                         (default  250)
//
// Fails when one takes longer.

import { readFileSync } from 'node:fs'
import http from 'node:http'
import { newId } from '../../src/core/ids.ts'
import type { Route } from '../../src/core/route.ts'
import { MAX_BODY_BYTES } from '../../src/http/input.ts'
import { routes } from '../../src/routes.ts'
import { newKeys, newMembers, newServiceToken, newWorld, runOurs } from '../world.ts'
import { bodiesOf, formsOf, headersOf, type Input, queriesOf } from './worst-input.ts'

const ONLY = new RegExp(process.env.ONLY ?? '')
const MAX_MS = Number(process.env.MAX_MS ?? 30)
const MAX_LARGE_MS = Number(process.env.MAX_LARGE_MS ?? 250)
const TRIES = 6
/** Streams, whatever ends what the others need, and what takes long for how much there is, not for what was asked. */
const LEFT_OUT =
  /stream|changes|export|sign-out|leave|freeze|^DELETE \/v1\/user(\/sessions)?$|^DELETE \/v1\/user\/store\/:storeId$/

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, 1)
const [ownKey] = await newKeys(world, storeId, 1)
const service = await newServiceToken(world, null)
const ours = await runOurs(world)
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const ids = await makeRecords()

type Sent = { status: number; ms: number; text: string }
type Measured = { route: string; what: string; bytes: number; ms: number; plain: number; status: number }
const measured: Measured[] = []
/** Of each route. */
const worst: Measured[] = []

for (const row of routes) {
  const route = `${row.method} ${row.path}`
  if (!LEFT_OUT.test(route) && ONLY.test(route)) await measureRoute(row, route)
}
console.table(worst.map((each) => ({ ...each, ms: rounded(each.ms), plain: rounded(each.plain) })))
const slow = measured.filter(({ ms, bytes }) => ms > maxMs(bytes))
console.log(`${measured.length} requests; ${slow.length} took longer than they may.`)
agent.destroy()
await ours.stop()
await world.close()
process.exitCode = slow.length > 0 ? 1 : 0

function maxMs(bytes: number): number {
  return bytes > MAX_BODY_BYTES ? MAX_LARGE_MS : MAX_MS
}

async function measureRoute(row: Route, route: string): Promise<void> {
  const path = row.path.replace(/:(\w+)/g, (_, name: string) => ids[name] as string)
  const headers = headersFor(row)
  const example = row.body ? JSON.stringify(row.example?.body ?? {}) : null
  const plain = await leastOf(() => send(row.method, path, headers, example), 0)
  const began = performance.now()
  const before = measured.length
  const measure = async (what: string, bytes: number, run: () => Promise<Sent>) => {
    const { ms, status } = await leastOf(run, maxMs(bytes) / 3)
    measured.push({ route, what, bytes, ms, plain: plain.ms, status })
  }
  for (const { what, text } of inputsOf(row))
    await measure(what, Buffer.byteLength(text), () => send(row.method, path, headers, text))
  if (row.method !== 'DELETE')
    for (const { what, text } of queriesOf(row))
      await measure(what, text.length, () => send(row.method, `${path}?${text}`, headers, example))
  for (const { what, name, text } of headersOf())
    await measure(what, text.length, () => send(row.method, path, { ...headers, [name]: text }, example))
  const own = measured.slice(before).sort((a, b) => b.ms - a.ms)
  worst.push(own[0] as Measured)
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stderr.write(`${route}: ${own.length} requests in ${seconds} s, worst ${rounded(own[0]?.ms ?? 0)} ms\n`)
}

function* inputsOf(row: Route): Generator<Input> {
  const bytes = (row.maxBodyBytes ?? MAX_BODY_BYTES) - 200
  if (row.form) yield* formsOf(bytes)
  else if (row.body) yield* bodiesOf(row, bytes)
}

function headersFor(row: Route): Record<string, string> {
  const credential = row.needs === 'key' ? ownKey?.key : row.needs === 'service' ? service : tokens[0]
  return {
    ...(row.needs === 'public' ? {} : { authorization: `Bearer ${credential}` }),
    ...(row.body ? { 'content-type': row.form ? 'application/x-www-form-urlencoded' : 'application/json' } : {}),
  }
}

/** Code that has just been loaded, or a garbage collection, takes long once. */
async function leastOf(run: () => Promise<Sent>, enoughMs: number): Promise<Sent> {
  let least = await run()
  for (let tries = 1; tries < TRIES && least.ms > enoughMs; tries++) {
    const again = await run()
    if (again.ms < least.ms) least = again
  }
  return least
}

function send(method: string, path: string, headers: http.OutgoingHttpHeaders, body: string | null): Promise<Sent> {
  const before = mainThreadMs()
  const length = body === null ? {} : { 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve) => {
    const request = http.request(ours.url + path, { method, agent, headers: { ...headers, ...length } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode as number,
          ms: mainThreadMs() - before,
          text: Buffer.concat(chunks).toString(),
        }),
      )
    })
    // A connection that is ended, for what no server would read.
    request.on('error', () => resolve({ status: 0, ms: mainThreadMs() - before, text: '' }))
    request.end(body)
  })
}

function mainThreadMs(): number {
  const [running] = readFileSync(`/proc/${ours.pid}/task/${ours.pid}/schedstat`, 'utf8').split(' ')
  return Number(running) / 1e6
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** What the parameters of the paths stand for: most of it is there. */
async function makeRecords(): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' }
  const made = async (method: string, path: string): Promise<{ id: string }> => {
    const row = routes.find((each) => each.method === method && each.path === path) as Route
    const target = path.replace(':storeId', storeId).replace(':externalId', 'customer-42')
    const { status, text } = await send(method, target, headers, JSON.stringify(row.example?.body ?? {}))
    if (status >= 300) throw new Error(`${method} ${target}: ${status} ${text}`)
    return JSON.parse(text)
  }
  await made('PUT', '/v1/user/store/:storeId/customers/:externalId')
  return {
    storeId,
    externalId: 'customer-42',
    owner: 'customer-42',
    code: 'US',
    n: '1',
    keyId: (await made('POST', '/v1/user/store/:storeId/keys')).id,
    addressId: (await made('POST', '/v1/store/:storeId/billing')).id,
    webhookId: (await made('POST', '/v1/user/store/:storeId/webhooks')).id,
    invitationId: (await made('POST', '/v1/user/store/:storeId/invitations')).id,
    userId: newId('user'),
    sessionId: newId('sess'),
    deliveryId: newId('dlv'),
    serviceTokenId: newId('svc'),
    eventId: newId('evt'),
    passkeyId: newId('passkey'),
  }
}
