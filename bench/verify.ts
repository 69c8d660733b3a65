// npm run bench:verify: how fast keys are verified, beside bare Fastify on the same machine in the same run. SECONDS
// (default 6) for each measurement, medians of ROUNDS (default 3), in turn, so that a noisy minute hits everyone alike.
// ROWS (default 1,000,000) keys stand in the table for the lines that say so. ONLY=in-process measures back ends that verify
// in their own process alone, and one hot key beside them.

import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mintToken } from '../src/crypto/tokens.ts'
import { type InProcess, measureInProcess } from './in-process.ts'
import {
  CONNECTIONS,
  cpuMs,
  type Load,
  load,
  median,
  memoryMb,
  newKeys,
  newMembers,
  newServiceToken,
  newWorld,
  READY,
  runBareVerify,
  runOurs,
  type World,
} from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 6)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const ROWS = Number(process.env.ROWS ?? 1_000_000)
const WARM_SECONDS = 2
const FEW = 1_000
const SPENDING = 100
/** More than a node keeps in memory, so that each request in turn is a miss. */
const MANY = 64_000

const world = await newWorld()
const { storeId } = await newMembers(world, 1)
const service = await newServiceToken(world, storeId)
const secrets = async (count: number) => (await newKeys(world, storeId, count)).map(({ key }) => key)
const few = await secrets(FEW)
const limit = await runBareVerify()
const select = await runBareVerify(world)
const ours = await runOurs(world)

const headers = { 'content-type': 'application/json', authorization: `Bearer ${service}` }
/** Each connection begins at another key: in step they would all wait for the same one. */
const ask = (path: string, keys: string[]) => (n: number) => ({
  method: 'POST' as const,
  path,
  headers,
  body: JSON.stringify({ key: keys[(n + 37 * Math.floor(n / READY)) % keys.length], permissions: ['READ'] }),
})
const verify = '/v1/keys/verify'
const unknown = Array.from({ length: MANY }, () => mintToken('skp', 'prod').reveal())
const broken = few.map((key) => `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`)

type Result = Load & { cpuUs: number }
type Subject = { name: string; pid: number; run: (seconds: number) => Promise<Load> }
const results = new Map<string, Result[]>()

async function measure(subjects: Subject[]): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++)
    for (const { name, pid, run } of subjects) {
      // Whoever sat idle while others were measured has let go of what it knew.
      await run(WARM_SECONDS)
      const before = cpuMs(pid)
      const result = await run(SECONDS)
      const cpuUs = ((cpuMs(pid) - before) * 1000) / (result.perSecond * SECONDS)
      results.set(name, [...(results.get(name) ?? []), { ...result, cpuUs }])
      process.stderr.write(
        `round ${round}: ${name.padEnd(44)} ${Math.round(result.perSecond)}/s, ${Math.round(cpuUs)} µs of its CPU${result.errors ? `, ${result.errors} ERRORS` : ''}\n`,
      )
    }
}

const at = (name: string, keys: string[]): Subject => ({
  name,
  pid: ours.pid,
  run: (seconds) => load(ours.url, seconds, ask(verify, keys)),
})
const bareLimit = {
  name: 'limit: bare, SHA-256 and a Map',
  pid: limit.pid,
  run: (seconds: number) => load(limit.url, seconds, ask('/verify', few)),
}
const bareSelect = {
  name: 'bare, one SELECT',
  pid: select.pid,
  run: (seconds: number) => load(select.url, seconds, ask('/verify', few)),
}

// ---- in the back end's own process, which is this one ----------------------------------------------------------------

const inProcess: InProcess[] = []
for (const keys of [few.slice(0, 1), few, await secrets(10_000)])
  inProcess.push(await measureInProcess(ours.url, service, keys, SECONDS / 3, ROUNDS))
console.table(inProcess)
if (process.env.ONLY === 'in-process') {
  await measure([at('1,000 keys', few)])
  const http = median((results.get('1,000 keys') as Result[]).map((result) => result.perSecond))
  console.log(
    `over HTTP: ${Math.round(http)}/s; in process ${Math.round((inProcess[1]?.['verifications/s'] ?? 0) / http)} times that`,
  )
  process.exit(0)
}

/** Keys of which each verification spends something, 100 of a kind. */
const spending = async (set: string, values: unknown[] = []) => {
  const keys = await newKeys(world, storeId, SPENDING)
  await world.sql(`update api_keys set ${set} where id = any($1)`, [keys.map(({ id }) => id), ...values])
  return keys
}
const oneLimit = await spending(`rate_limit = 1000000, rate_limit_window_seconds = 3600`)
const threeLimits = await spending('rate_limits = $2', [
  JSON.stringify(['a', 'b', 'c'].map((name) => ({ name, limit: 1_000_000, windowSeconds: 3600, shared: null }))),
])
const withCredits = await spending('has_credits = true')
await world.sql(`insert into key_credits (key_id, remaining) select id, 1000000000 from unnest($1::text[]) as id`, [
  withCredits.map(({ id }) => id),
])
await world.sql('create table bare_credits (id text primary key, remaining bigint not null) with (fillfactor = 50)')
await world.sql(`insert into bare_credits select id, 1000000000 from unnest($1::text[]) as id`, [
  withCredits.map(({ key }) => hash('sha256', key, 'base64')),
])
const update = await runBareVerify(world, 'update')
const of100 = (name: string, keys: { key: string }[]) =>
  at(
    name,
    keys.map(({ key }) => key),
  )
await measure([
  of100('100 keys with a rate limit', oneLimit),
  of100('100 keys with three limits', threeLimits),
  {
    name: 'bare, a durable UPDATE',
    pid: update.pid,
    run: (seconds: number) =>
      load(
        update.url,
        seconds,
        ask(
          '/verify',
          withCredits.map(({ key }) => key),
        ),
      ),
  },
  of100('100 keys with credits', withCredits),
])
await update.stop()

await measure([
  bareLimit,
  at('one hot key', few.slice(0, 1)),
  at('1,000 keys', few),
  at('a wrong checksum', broken),
  bareSelect,
  at('unknown keys', unknown),
])
const memoryFew = memoryMb(ours.pid)
process.stderr.write(`filling up to ${ROWS.toLocaleString('en')} keys …\n`)
const many = await secrets(MANY)
await fill(world, ROWS - FEW - MANY)
await measure([
  { ...bareLimit, name: 'limit, again' },
  { ...at('1,000 keys, of 1,000,000', few) },
  { ...bareSelect, name: 'bare, one SELECT, of 1,000,000' },
  { ...at('64,000 keys in turn, of 1,000,000 (misses)', many) },
  { ...at('unknown keys, of 1,000,000', unknown) },
])
const memory = memoryMb(ours.pid)

const of = (name: string, pick: (result: Result) => number) => median((results.get(name) as Result[]).map(pick))
const rows = [...results].map(([name, all]) => ({
  name,
  'requests/s': Math.round(of(name, (r) => r.perSecond)),
  'µs of CPU': Math.round(of(name, (r) => r.cpuUs)),
  'p50 ms': of(name, (r) => r.p50),
  'p99 ms': of(name, (r) => r.p99),
  errors: all.reduce((sum, result) => sum + result.errors, 0),
}))
console.table(rows)
const per = (name: string) => of(name, (r) => r.perSecond)
const ratios = {
  'three limits / one (asked: 0.8)': round(per('100 keys with three limits') / per('100 keys with a rate limit')),
  'credits / a durable UPDATE (asked: 0.8)': round(per('100 keys with credits') / per('bare, a durable UPDATE')),
  'cached / limit (asked: 0.8)': round(per('1,000 keys') / per('limit: bare, SHA-256 and a Map')),
  'one hot key / limit': round(per('one hot key') / per('limit: bare, SHA-256 and a Map')),
  'cached / limit, of 1,000,000': round(per('1,000 keys, of 1,000,000') / per('limit, again')),
  'misses / one SELECT, of 1,000,000 (asked: 0.9)': round(
    per('64,000 keys in turn, of 1,000,000 (misses)') / per('bare, one SELECT, of 1,000,000'),
  ),
  'unknown / one SELECT': round(per('unknown keys') / per('bare, one SELECT')),
  'cached, 1,000,000 against 1,000 rows (asked: 0.9)': round(per('1,000 keys, of 1,000,000') / per('1,000 keys')),
  'unknown, 1,000,000 against 1,000 rows (asked: 0.9)': round(per('unknown keys, of 1,000,000') / per('unknown keys')),
}
console.table(ratios)
console.log(
  `${CONNECTIONS} connections, ${SECONDS} s, medians of ${ROUNDS}; memory of the service: ${memoryFew} MB with ${FEW} keys, ${memory} MB with as many as it keeps`,
)
mkdirSync('bench/results', { recursive: true })
writeFileSync(
  'bench/results/verify.json',
  `${JSON.stringify({ connections: CONNECTIONS, seconds: SECONDS, rounds: ROUNDS, memoryFew, memory, rows, ratios, inProcess }, null, 2)}\n`,
)
await Promise.all([limit.stop(), select.stop(), ours.stop()])
await world.close()

/** Keys that nobody asks for. */
async function fill({ sql }: World, count: number): Promise<void> {
  await sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_at, updated_at)
     select 'key_fill' || lpad(n::text, 10, '0'), $2, 'Filled', 'PROD', '{READ,WRITE}', '{}', 'skp_prod_abcd',
            sha256(('k' || n)::bytea), 'kid', 'user', 'user_bench', now(), now()
       from generate_series(1, $1::int) n`,
    [Math.max(0, count), storeId],
  )
  await sql('vacuum analyze api_keys')
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
