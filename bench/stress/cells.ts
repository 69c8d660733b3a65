// npm run stress:cells: two cells behind HAProxy with deploy/cells/haproxy.cfg (apt-get install haproxy). Random requests of
// every kind go through the proxy; each must be answered as only its own cell can answer it, and afterwards each cell must
// have counted exactly the requests that were meant for it. REQUESTS (default 2,000), SEED to repeat a run.

import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { newRandom } from '../../tests/random.ts'
import { newWorld, runOurs } from '../world.ts'

const REQUESTS = Number(process.env.REQUESTS ?? 2_000)
const CELLS = ['eu', 'us'] as const
type CellName = (typeof CELLS)[number]

const random = newRandom()
const worlds = await Promise.all(CELLS.map(() => newWorld()))
const services = await Promise.all(worlds.map((world, n) => runOurs(world, { KEY_PREFIX: CELLS[n] as string })))
const listen = `127.0.0.1:${await freePort()}`
const [eu, us] = services.map(({ url }) => new URL(url).host) as [string, string]
const HAPROXY = 'haproxy'
const proxy = spawn(HAPROXY, ['-db', '-f', 'deploy/cells/haproxy.cfg'], {
  env: { ...process.env, LISTEN: listen, EU: eu, US: us },
  stdio: 'inherit',
})
proxy.on('error', () => {
  console.error('haproxy is not installed: apt-get install haproxy')
  process.exit(1)
})
let isDone = false
proxy.on('exit', () => {
  if (!isDone) process.exit(1)
})

type Answer = { status: number; body: Record<string, never> & { id?: string; code?: string } }
type Sent = { method?: 'GET' | 'POST'; headers?: Record<string, string>; body?: unknown; raw?: string }
const expected: Record<CellName, number> = { eu: 0, us: 0 }

/** Through the proxy. `cell` is where it should arrive. */
async function ask(
  cell: CellName | null,
  path: string,
  { method = 'POST', headers = {}, body, raw }: Sent,
): Promise<Answer> {
  if (cell) expected[cell] += 1
  const answer = await request(`http://${listen}${path}`, {
    method,
    headers: { host: 'api.example.com', ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
    body: raw ?? (body ? JSON.stringify(body) : null),
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, body: answer.headers['content-type']?.includes('json') ? JSON.parse(text) : {} }
}

while ((await ask(null, '/', { method: 'GET', headers: { host: 'eu' } }).catch(() => ({ status: 503 }))).status === 503)
  await sleep(100)
const cells = Object.fromEntries(await Promise.all(CELLS.map(async (name) => [name, await settle(name)] as const)))
const before = await Promise.all(services.map(({ url }) => served(url)))
for (const name of CELLS) expected[name] = 0

/** An owner with a store, keys and a service token, made through the proxy by the name of the host alone. */
async function settle(name: CellName) {
  const host = { host: `${name}.example.com` }
  const account = { email: `ada@${name}.example.com`, password: 'a long pass phrase of nobody' }
  const { token } = (await ask(name, '/v1/auth/sign-up', { headers: host, body: account })).body
  const as = { authorization: `Bearer ${token}` }
  const store = (await ask(name, '/v1/user/store', { headers: as, body: { name: `Shop ${name}` } })).body.id
  const keys: string[] = []
  const newKey = { name: 'Checkout', type: 'PROD', permissions: ['READ'] }
  for (let n = 0; n < 20; n++)
    keys.push(String((await ask(name, `/v1/user/store/${store}/keys`, { headers: as, body: newKey })).body.key))
  const issued = await ask(name, `/v1/user/store/${store}/service-tokens`, { headers: as, body: { name: 'Back end' } })
  return { host, account, as, store, keys, newKey, service: { authorization: `Bearer ${issued.body.token}` } }
}

// ---- random requests ----------------------------------------------------------------------------------------------------

const counts: Record<string, number> = {}
const wrong: string[] = []
for (let n = 0; n < REQUESTS; n++) {
  const name = random.pick([...CELLS])
  const other = CELLS[1 - CELLS.indexOf(name)] as CellName
  const cell = cells[name] as Awaited<ReturnType<typeof settle>>
  const key = random.pick(cell.keys)
  // A host name that leads elsewhere must not matter where a request carries a key or a token.
  const misleading = { host: `${other}.example.com` }
  const kinds: Record<string, () => Promise<boolean>> = {
    'verify: the key in the body': async () =>
      (await ask(name, '/v1/keys/verify', { headers: { ...misleading, ...cell.service }, body: { key } })).body.code ===
      'VALID',
    "verify with the other cell's token: refused by the cell of the key": async () =>
      (await ask(name, '/v1/keys/verify', { headers: cells[other]?.service ?? {}, body: { key } })).status === 401,
    'lease: the key in the body': async () =>
      (await ask(name, '/v1/keys/lease', { headers: cell.service, body: { key } })).status === 200,
    'introspection: the token in a form': async () =>
      (
        await ask(name, '/v1/oauth/introspect', {
          headers: { ...cell.service, 'content-type': 'application/x-www-form-urlencoded' },
          raw: `token=${key}`,
        })
      ).status === 200,
    'create a key: the bearer token': async () =>
      String(
        (
          await ask(name, `/v1/user/store/${cell.store}/keys`, {
            headers: { ...misleading, ...cell.as },
            body: cell.newKey,
          })
        ).body.key,
      ).startsWith(`${name}_`),
    'read the store: the bearer token': async () =>
      (await ask(name, `/v1/user/store/${cell.store}`, { method: 'GET', headers: cell.as })).body.id === cell.store,
    'read itself: a key as bearer token': async () =>
      (await ask(name, '/v1/key', { method: 'GET', headers: { authorization: `Bearer ${key}` } })).status === 200,
    'report a leak of no key: the key in the body': async () =>
      (await ask(name, '/v1/leaks', { headers: misleading, body: { key: `${name}_prod_0000` } })).status < 500,
    'list countries: the name of the host': async () =>
      (await ask(name, '/v1/countries', { method: 'GET', headers: cell.host })).status === 200,
    'neither key, token nor host of a cell: 421': async () =>
      (await ask(null, '/v1/countries', { method: 'GET', headers: { host: 'example.com' } })).status === 421,
  }
  const kind = random.pick(Object.keys(kinds))
  counts[kind] = (counts[kind] ?? 0) + 1
  if (!(await kinds[kind]?.())) wrong.push(`${kind} (${name})`)
}

const after = await Promise.all(services.map(({ url }) => served(url)))
console.table(Object.entries(counts).map(([kind, requests]) => ({ kind, requests })))
for (const [n, name] of CELLS.entries())
  console.log(
    `cell ${name}: ${expected[name]} requests were meant for it, ${(after[n] ?? 0) - (before[n] ?? 0)} arrived`,
  )
console.log(`SEED=${random.seed}: wrong answers: ${wrong.length}`, [...new Set(wrong)].slice(0, 5))
if (wrong.length > 0 || CELLS.some((name, n) => (after[n] ?? 0) - (before[n] ?? 0) !== expected[name]))
  process.exitCode = 1
isDone = true
proxy.kill('SIGTERM')
for (const service of services) await service.stop()
for (const world of worlds) await world.close()

/** The requests that a cell has answered, without health checks and without this question. */
async function served(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return metrics
    .split('\n')
    .filter((line) => /^storekeeper_http_requests_total\{/.test(line) && line.includes('/v1/'))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
