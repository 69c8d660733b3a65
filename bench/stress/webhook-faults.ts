// npm run stress:webhooks: kills the service and its database, again and again, while keys are made and told to two
// webhooks, one of them unreliable. Afterwards every event that was committed must have arrived at each at least once, a
// repetition must carry the id and the bytes of the first, and nothing may have arrived that was rolled back.
// EVENTS (default 10,000), KILLS (default 16).

import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const EVENTS = Number(process.env.EVENTS ?? 10_000)
const KILLS = Number(process.env.KILLS ?? 16)
const CLIENTS = 12
const PATIENCE_MS = 180_000

const folder = mkdtempSync(join(tmpdir(), 'storekeeper-faults-'))
chmodSync(folder, 0o755)
const data = join(folder, 'data')
const began = performance.now()
const seconds = () => Math.round((performance.now() - began) / 1000)
const say = (line: string) => process.stderr.write(`${String(seconds()).padStart(4)} s  ${line}\n`)

// ---- the receivers ----------------------------------------------------------------------------------------------------

type Heard = { body: string; times: number; confirmed: boolean }
const heard = { good: new Map<string, Heard>(), moody: new Map<string, Heard>() }
type Name = keyof typeof heard
const secrets: Partial<Record<Name, string>> = {}
const faults: string[] = []
const receiver = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk) => (body += chunk))
  request.on('end', () => {
    const name = request.url === '/moody' ? 'moody' : 'good'
    const confirmed = take(name, request.headers as Record<string, string>, body)
    // Of the moody one every twelfth answer is a failure, unless it has seen the message before: tried again within 6 s.
    response.writeHead(confirmed ? 204 : 500).end()
  })
})
let calls = 0
function take(name: Name, headers: Record<string, string>, body: string): boolean {
  const id = headers['webhook-id'] as string
  const key = Buffer.from((secrets[name] as string).slice('whsec_'.length), 'base64')
  const signed = createHmac('sha256', key).update(`${id}.${headers['webhook-timestamp']}.${body}`).digest('base64')
  if (headers['webhook-signature'] !== `v1,${signed}`) faults.push(`${name}: ${id} has a wrong signature`)
  const before = heard[name].get(id)
  if (before && before.body !== body) faults.push(`${name}: ${id} came again with other bytes`)
  calls += 1
  const confirmed = name === 'good' || before !== undefined || calls % 12 !== 0
  heard[name].set(id, { body, times: (before?.times ?? 0) + 1, confirmed })
  return confirmed
}
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const hooks = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

// ---- the service, and what befalls it ---------------------------------------------------------------------------------

let child!: ChildProcess
let url = ''
async function start(): Promise<void> {
  child = spawn(process.execPath, ['bin/start.js'], {
    env: {
      ...process.env,
      DATA_DIR: data,
      PORT: '0',
      RATE_LIMIT: 'off',
      MAX_KEYS_PER_STORE: '1000000',
      WEBHOOK_ALLOW_PRIVATE: 'on',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const mine = child
  await new Promise<void>((resolve, reject) => {
    let seen = ''
    mine.once('exit', () => reject(new Error('the service ended before it listened')))
    mine.stdout?.on('data', (chunk) => {
      seen = (seen + chunk).slice(-10_000)
      const found = /"url":"([^"]+)"/.exec(seen)?.[1]
      if (!found) return
      url = found
      resolve()
    })
  })
}

async function killService(): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  await start()
}

/** The service notices and starts it again. */
function killDatabase(): void {
  const pid = Number(readFileSync(join(data, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
  process.kill(pid, 'SIGKILL')
}

// ---- the clients --------------------------------------------------------------------------------------------------------

async function post(path: string, body: unknown, token?: string, key?: string): Promise<{ status: number; body: any }> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(key ? { 'idempotency-key': key } : {}),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  return { status: response.status, body: await response.json() }
}

await start()
const account = { email: 'owner@example.com', password: 'a long pass phrase for the stress' }
const { token } = (await post('/v1/auth/sign-up', account)).body
const store = (await post('/v1/user/store', { name: 'Stress' }, token)).body.id as string
for (const name of ['good', 'moody'] as const) {
  const made = await post(`/v1/user/store/${store}/webhooks`, { url: `${hooks}/${name}`, types: ['key.*'] }, token)
  secrets[name] = made.body.secret
}

const acknowledged = new Set<string>()
let asked = 0
async function client(): Promise<void> {
  while (asked < EVENTS) {
    asked += 1
    const key = randomUUID()
    for (;;) {
      const wanted = { name: 'Stress', type: 'DEV', permissions: ['READ'] }
      const reply = await post(`/v1/user/store/${store}/keys`, wanted, token, key).catch(() => null)
      if (reply?.status === 201) {
        acknowledged.add(reply.body.id)
        break
      }
      await sleep(100)
    }
  }
}

/** Events that are written and rolled back, straight in the database. */
async function rollBack(): Promise<number> {
  const db = connection()
  let rolledBack = 0
  try {
    await db.connect()
    while (acknowledged.size < EVENTS) {
      await db.query('begin')
      await db.query(
        `insert into events (id, store_id, type, at, actor, subject, data)
         values ($1, $2, 'key.created', now(), '{"kind":"user","id":"user_x"}', 'rolled back', '{}')`,
        [`evt_rolled_back_${randomUUID()}`, store],
      )
      await db.query('rollback')
      rolledBack += 1
      await sleep(5)
    }
  } catch {
    // The database was killed: the next one goes on.
  }
  await db.end().catch(() => {})
  return rolledBack
}

function connection(): pg.Client {
  const client = new pg.Client({ host: join(data, 'socket'), port: 5432, user: 'storekeeper', database: 'storekeeper' })
  client.on('error', () => {})
  return client
}

let rolledBack = 0
const spoiling = (async () => {
  while (acknowledged.size < EVENTS) {
    rolledBack += await rollBack()
    await sleep(100)
  }
})()
const clients = Array.from({ length: CLIENTS }, client)
const killed = { service: 0, database: 0 }
for (let kill = 0; kill < KILLS; kill++) {
  const mark = Math.round(((kill + 1) * EVENTS) / (KILLS + 2))
  while (acknowledged.size < mark) await sleep(10)
  if (kill % 2 === 0) {
    killed.service += 1
    await killService()
  } else {
    killed.database += 1
    killDatabase()
  }
  say(`${acknowledged.size} acknowledged, kill ${kill + 1}: ${kill % 2 === 0 ? 'service' : 'database'}`)
}
await Promise.all(clients)
await spoiling
say(`all ${acknowledged.size} acknowledged; waiting for the rest to arrive`)

// ---- the reckoning ------------------------------------------------------------------------------------------------------

const db = connection()
await db.connect()
const { rows } = await db.query<{ id: string; subject: string }>(
  `select id, subject from events where store_id = $1 and type = 'key.created'`,
  [store],
)
const committed = new Map(rows.map(({ id, subject }) => [id, subject]))
const missing = (name: Name) => [...committed.keys()].filter((id) => !heard[name].get(id)?.confirmed).length
const end = performance.now() + PATIENCE_MS
while (performance.now() < end && missing('good') + missing('moody') > 0) await sleep(200)
const arrivedAfter = seconds()
await sleep(1_000)

const subjects = new Set(committed.values())
for (const id of acknowledged) if (!subjects.has(id)) faults.push(`${id} was acknowledged and is not in the log`)
for (const name of ['good', 'moody'] as const) {
  if (missing(name) > 0) faults.push(`${name}: ${missing(name)} committed events did not arrive`)
  for (const id of heard[name].keys())
    if (!committed.has(id)) faults.push(`${name}: ${id} arrived and was not committed`)
}
const repeated = (name: Name) => [...heard[name].values()].reduce((sum, { times }) => sum + times - 1, 0)
console.table({
  'events committed': committed.size,
  'events rolled back': rolledBack,
  'kills of the service': killed.service,
  'kills of the database': killed.database,
  'arrived, good receiver': heard.good.size,
  'arrived again, good receiver': repeated('good'),
  'arrived, moody receiver': heard.moody.size,
  'arrived again, moody receiver': repeated('moody'),
  'seconds until the last arrived': arrivedAfter,
  faults: faults.length,
})
for (const fault of faults.slice(0, 20)) console.error(fault)
await db.end()
const stopped = new Promise((resolve) => child.once('exit', resolve))
child.kill('SIGTERM')
await stopped
receiver.close()
receiver.closeAllConnections()
rmSync(folder, { recursive: true, force: true })
process.exitCode = faults.length === 0 ? 0 : 1
