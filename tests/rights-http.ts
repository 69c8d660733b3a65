// The same sequences over HTTP, at two nodes in turn: what the service answers, and which rights everybody holds afterwards,
// is what the model says.
//
// A change counts at once at every node. That a caller may do more than before, or why they are refused, a node may learn a
// moment later, so a refusal that the model does not expect is asked for again. A change that the model refuses is never
// allowed, not even for a moment.

import { setTimeout as sleep } from 'node:timers/promises'
import { heldByPerson, isAlive, newWorld, nth, type SecretOf, verifies, type World } from './rights-model.ts'
import { perform } from './rights-operations.ts'
import type { Operation, Refusal } from './rights-rules.ts'
import type { Fault } from './rights-search.ts'
import { resolve, type Sequence, tell } from './rights-sequences.ts'
import { keep, type Nodes, newTenant, passTime, type Reply, requestFor, send, type Tenant } from './rights-tenant.ts'

/** Long enough for any node to have heard of a change, also on a busy machine. How long it takes is tested elsewhere. */
const PATIENCE_MS = 5_000
/** A node that is too busy answers 503 and has changed nothing: that is no answer. */
const BUSY_MS = 60_000

/** Where the service and the model disagree, and what had happened until then; null when they agree. */
export const runOverHttp = (nodes: Nodes, sequence: Sequence): Promise<Fault | null> =>
  runOperationsOverHttp(nodes, sequence, resolve)

/** The same for operations that are given as such. */
export async function runOperationsOverHttp<T>(
  nodes: Nodes,
  steps: Iterable<T>,
  toOperation: (world: World, step: T) => Operation | null,
): Promise<Fault | null> {
  const tenant = await newTenant(nodes)
  let world = newWorld()
  const told: string[] = []
  for (const step of steps) {
    const operation = toOperation(world, step)
    if (operation === null) continue
    const { refusal, after } = perform(world, operation)
    const code = await carryOut(tenant, operation, refusal, nth(nodes.urls, told.length % 2))
    told.push(tell(operation, refusal))
    if (code !== refusal) {
      const [is, should] = [code, refusal].map((one) => one ?? 'allowed')
      return { kind: `${operation.op}: ${is}, by the model ${should}`, told: [...told, `but it is ${is}`].join('\n') }
    }
    world = after
  }
  const difference = await compare(tenant, world)
  if (difference === null) return null
  return { kind: difference.replace(/\d+/g, 'n'), told: [...told, difference].join('\n') }
}

/** The code of the refusal, or null. */
async function carryOut(tenant: Tenant, operation: Operation, expected: Refusal, url: string): Promise<Refusal> {
  const request = requestFor(tenant, operation)
  if (request === null) {
    if (operation.op === 'pass time') await passTime(tenant, operation.seconds)
    return null
  }
  const reply = await askUntil(url, request, (reply) => codeOf(reply) === null || codeOf(reply) === expected)
  if (codeOf(reply) === null) keep(tenant, operation, request, reply)
  return codeOf(reply)
}

/** An import answers for each line. */
function codeOf({ status, body }: Reply): Refusal {
  if (status >= 300) return body?.code ?? `status ${status}`
  return body?.results?.[0]?.errors?.[0]?.code ?? null
}

async function askUntil(url: string, request: Parameters<typeof send>[1], isRight: (reply: Reply) => boolean) {
  const began = performance.now()
  for (;;) {
    const reply = await send(url, request)
    const patienceMs = reply.status === 503 ? BUSY_MS : PATIENCE_MS
    if (isRight(reply) || performance.now() > began + patienceMs) return reply
    await sleep(20)
  }
}

// ---- afterwards -----------------------------------------------------------------------------------------------------

/** What every secret, every session and every webhook is worth, at either node. */
async function compare(tenant: Tenant, world: World): Promise<string | null> {
  const secrets = world.keys.flatMap(({ secrets }, key) => secrets.map((_, secret) => ({ key, secret })))
  for (const [n, one] of secrets.entries()) {
    const url = nth(tenant.nodes.urls, n % 2)
    const difference = (await compareSecret(tenant, world, one, url)) ?? (await compareVerdict(tenant, world, one, url))
    if (difference !== null) return difference
  }
  for (const person of world.people.keys()) {
    const difference = await comparePerson(tenant, world, person, nth(tenant.nodes.urls, person % 2))
    if (difference !== null) return difference
  }
  return compareRows(tenant, world)
}

async function compareSecret(tenant: Tenant, world: World, one: SecretOf, url: string): Promise<string | null> {
  const { permissions, place } = nth(world.keys, one.key)
  const expected = !isAlive(world, one) ? '401' : place === 'ELSEWHERE' ? '403' : `200 ${[...permissions].sort()}`
  const request = { method: 'GET', path: '/v1/key', as: nth(nth(tenant.keys, one.key).secrets, one.secret) }
  const shown = ({ status, body }: Reply) => (status === 200 ? `200 ${body.permissions.toSorted()}` : String(status))
  const reply = await askUntil(url, request, (reply) => shown(reply) === expected)
  const is = shown(reply)
  return is === expected ? null : `key ${one.key} (secret ${one.secret}) is ${is}, by the model ${expected}`
}

async function compareVerdict(tenant: Tenant, world: World, one: SecretOf, url: string): Promise<string | null> {
  const expected = verifies(world, one) && nth(world.keys, one.key).place !== 'ELSEWHERE'
  const body = {
    key: nth(nth(tenant.keys, one.key).secrets, one.secret),
    ip: '127.0.0.1',
    storeId: tenant.storeId,
    cost: 0,
  }
  const request = { method: 'POST', path: '/v1/keys/verify', body, as: tenant.nodes.serviceToken }
  const reply = await askUntil(url, request, ({ body }) => body.valid === expected)
  if (reply.body.valid === expected) return null
  return `key ${one.key} (secret ${one.secret}) verifies as ${reply.body.code}, by the model ${expected ? 'valid' : 'invalid'}`
}

async function comparePerson(tenant: Tenant, world: World, n: number, url: string): Promise<string | null> {
  const person = nth(world.people, n)
  for (const session of person.sessions.keys()) {
    const part =
      world.store.deleted || person.role === null ? 'none' : `${person.role} ${heldByPerson(person).toSorted()}`
    const expected = isAlive(world, { person: n, session }) ? part : '401'
    const shown = ({ status, body }: Reply) => {
      const [store] = status === 200 ? body.stores : []
      return status !== 200 ? String(status) : store ? `${store.role} ${store.permissions.toSorted()}` : 'none'
    }
    const request = { method: 'GET', path: '/v1/user', as: nth(nth(tenant.people, n).tokens, session) }
    const is = shown(await askUntil(url, request, (reply) => shown(reply) === expected))
    if (is !== expected) return `person ${n} (session ${session}) is ${is}, by the model ${expected}`
  }
  return null
}

/** Whether each webhook is on, and what credits each key has: nobody may be left who could ask for it. */
async function compareRows({ nodes, storeId, keys, webhooks }: Tenant, world: World): Promise<string | null> {
  const rows = await nodes.sql(
    `select id, enabled::text as value from webhooks where store_id = $1
      union all
     select key.id, remaining::text from api_keys key join key_credits on key_id = key.id where store_id = $1`,
    [storeId],
  )
  const values = new Map(rows.map(({ id, value }) => [id, value]))
  const expected = [
    ...world.webhooks.map(({ enabled }, n) => ({ what: `webhook ${n}`, id: nth(webhooks, n), value: String(enabled) })),
    ...world.keys.map(({ credits }, n) => ({ what: `key ${n}`, id: nth(keys, n).id, value: credits?.toString() })),
  ]
  const wrong = expected.find(({ id, value }) => values.get(id) !== value)
  return wrong ? `${wrong.what} has ${values.get(wrong.id)}, by the model ${wrong.value}` : null
}
