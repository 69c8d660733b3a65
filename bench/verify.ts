// npm run bench:verify: how fast keys are verified, beside bare Fastify on the same machine in the same run. SECONDS
// (default 6) for each measurement, medians of ROUNDS (default 3), in turn, so that a noisy minute hits everyone alike.
// ROWS (default 1,000,000) keys stand in the table for the lines that say so. ONLY=spending leaves out all but the keys that
// spend something, and imported ones, and what these are held against; ONLY=in-process all but back ends that verify in
// their own process, and one hot key beside them. BASE=<folder> names another checkout of the service in which `npm ci` was
// run, such as an older version: its keys with one rate limit are measured, too.

import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { hashImportedKey } from '../src/crypto/key-hash.ts'
import { ServerKeys } from '../src/crypto/keyring.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
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
  runBareSpend,
  runBareVerify,
  runOurs,
  type World,
} from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 6)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const ROWS = Number(process.env.ROWS ?? 1_000_000)
const ONLY_SPENDING = process.env.ONLY === 'spending'
const WARM_SECONDS = 2
const FEW = 1_000
const PER_KIND = 100
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

type Result = Load & { cpuUs: number; databaseUs: number }
type Subject = { name: string; pid: number; run: (seconds: number) => Promise<Load> }
const results = new Map<string, Result[]>()
/** What else is to be ended, in this order. */
const ends: (() => Promise<void>)[] = []

async function measure(subjects: Subject[]): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++)
    for (const { name, pid, run } of subjects) {
      // Whoever sat idle while others were measured has let go of what it knew.
      await run(WARM_SECONDS)
      const [before, databaseBefore] = [cpuMs(pid), world.cpuMs()]
      const result = await run(SECONDS)
      const perRequest = (ms: number) => (ms * 1000) / (result.perSecond * SECONDS)
      const [cpuUs, databaseUs] = [perRequest(cpuMs(pid) - before), perRequest(world.cpuMs() - databaseBefore)]
      results.set(name, [...(results.get(name) ?? []), { ...result, cpuUs, databaseUs }])
      process.stderr.write(
        `round ${round}: ${name.padEnd(44)} ${Math.round(result.perSecond)}/s, ${Math.round(cpuUs)} µs of its CPU, ${Math.round(databaseUs)} of PostgreSQL’s${result.errors ? `, ${result.errors} ERRORS` : ''}\n`,
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

/** 100 keys of a kind, most of which spend something with each verification. */
type Kind = { id: string; key: string }[]
const kind = async (set: string, values: unknown[] = []): Promise<Kind> => {
  const keys = await newKeys(world, storeId, PER_KIND)
  await world.sql(`update api_keys set ${set} where id = any($1)`, [keys.map(({ id }) => id), ...values])
  return keys
}
const ONE_LIMIT = 'rate_limit = 1000000, rate_limit_window_seconds = 3600'
const plain = await kind('enabled = true')
const oneLimit = await kind(ONE_LIMIT)
const threeLimits = await kind('rate_limits = $2', [
  JSON.stringify(['a', 'b', 'c'].map((name) => ({ name, limit: 1_000_000, windowSeconds: 3600, shared: null }))),
])
const withCredits = await kind('has_credits = true')
await world.sql(`insert into key_credits (key_id, remaining) select id, 1000000000 from unnest($1::text[]) as id`, [
  withCredits.map(({ id }) => id),
])
const imported = await importedAs(await kind('enabled = true'))
const importedLimit = await importedAs(await kind(ONE_LIMIT))
await world.sql('create table bare_credits (id text primary key, remaining bigint not null) with (fillfactor = 50)')
await world.sql(`insert into bare_credits select id, 1000000000 from unnest($1::text[]) as id`, [
  withCredits.map(({ key }) => hash('sha256', key, 'base64')),
])
const update = await runBareVerify(world, 'update')
const bareSpend = await runBareSpend(world)
const secretsOf = (keys: Kind) => keys.map(({ key }) => key)
const base = process.env.BASE ? await oneLimitIn(process.env.BASE) : null
await measure([
  ...(base ? [base] : []),
  at('100 keys', secretsOf(plain)),
  at('100 imported keys', secretsOf(imported)),
  at('100 keys with a rate limit', secretsOf(oneLimit)),
  at('100 imported keys with a rate limit', secretsOf(importedLimit)),
  at('100 keys with three limits', secretsOf(threeLimits)),
  {
    name: 'bare, a durable UPDATE',
    pid: update.pid,
    run: (seconds: number) => load(update.url, seconds, ask('/verify', secretsOf(withCredits))),
  },
  {
    name: 'our server, a bare durable UPDATE',
    pid: bareSpend.pid,
    run: (seconds: number) => load(bareSpend.url, seconds, ask(verify, secretsOf(withCredits))),
  },
  at('100 keys with credits', secretsOf(withCredits)),
])
await Promise.all([update.stop(), bareSpend.stop()])

const memory = ONLY_SPENDING ? null : await measureTheRest()

const of = (name: string, pick: (result: Result) => number) => median((results.get(name) as Result[]).map(pick))
const rows = [...results].map(([name, all]) => ({
  name,
  'requests/s': Math.round(of(name, (r) => r.perSecond)),
  'µs of CPU': Math.round(of(name, (r) => r.cpuUs)),
  'µs of PostgreSQL': Math.round(of(name, (r) => r.databaseUs)),
  'p50 ms': of(name, (r) => r.p50),
  'p99 ms': of(name, (r) => r.p99),
  errors: all.reduce((sum, result) => sum + result.errors, 0),
}))
console.table(rows)
const per = (name: string) => of(name, (r) => r.perSecond)
const ratio = (name: string, other: string) => Math.round((per(name) / per(other)) * 100) / 100
const ratios = {
  'imported / ours': ratio('100 imported keys', '100 keys'),
  'imported with one limit / one (asked: 0.8)': ratio(
    '100 imported keys with a rate limit',
    '100 keys with a rate limit',
  ),
  'three limits / one': ratio('100 keys with three limits', '100 keys with a rate limit'),
  ...(base && { [`three limits / one in ${process.env.BASE}`]: ratio('100 keys with three limits', base.name) }),
  'credits / a durable UPDATE by the same server and batcher (asked: 0.8)': ratio(
    '100 keys with credits',
    'our server, a bare durable UPDATE',
  ),
  'credits / a durable UPDATE by bare Fastify': ratio('100 keys with credits', 'bare, a durable UPDATE'),
  'one limit / none': ratio('100 keys with a rate limit', '100 keys'),
  'three limits / none': ratio('100 keys with three limits', '100 keys'),
  'credits / none': ratio('100 keys with credits', '100 keys'),
  ...(memory === null ? {} : restOfRatios()),
}
console.table(ratios)
console.log(`${CONNECTIONS} connections, ${SECONDS} s, medians of ${ROUNDS}`)
if (memory !== null)
  console.log(`memory of the service: ${memory.few} MB with ${FEW} keys, ${memory.many} MB with as many as it keeps`)
mkdirSync('bench/results', { recursive: true })
writeFileSync(
  'bench/results/verify.json',
  `${JSON.stringify({ connections: CONNECTIONS, seconds: SECONDS, rounds: ROUNDS, memory, rows, ratios, inProcess }, null, 2)}\n`,
)
await Promise.all([limit.stop(), select.stop(), ours.stop()])
for (const end of [...ends, () => world.close()]) await end()

/** On a database of its own, which that version has migrated and filled. */
async function oneLimitIn(folder: string): Promise<Subject> {
  const its: typeof import('./world.ts') = await import(resolve(folder, 'bench/world.ts'))
  const other = await its.newWorld()
  const { storeId } = await its.newMembers(other, 1)
  const token = await its.newServiceToken(other, storeId)
  const keys = (await its.newKeys(other, storeId, PER_KIND)).map(({ key }) => key)
  await other.sql(`update api_keys set ${ONE_LIMIT}`)
  const { url, pid, stop } = await runOurs(other, {}, folder)
  const make = (n: number) => {
    const request = ask(verify, keys)(n)
    return { ...request, headers: { ...headers, authorization: `Bearer ${token}` } }
  }
  ends.push(stop, () => other.close())
  return { name: `100 keys with a rate limit, ${folder}`, pid, run: (seconds) => load(url, seconds, make) }
}

async function measureTheRest(): Promise<{ few: number; many: number }> {
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
  return { few: memoryFew, many: memoryMb(ours.pid) }
}

function restOfRatios(): Record<string, number> {
  return {
    'cached / limit (asked: 0.8)': ratio('1,000 keys', 'limit: bare, SHA-256 and a Map'),
    'one hot key / limit': ratio('one hot key', 'limit: bare, SHA-256 and a Map'),
    'cached / limit, of 1,000,000': ratio('1,000 keys, of 1,000,000', 'limit, again'),
    'misses / one SELECT, of 1,000,000 (asked: 0.9)': ratio(
      '64,000 keys in turn, of 1,000,000 (misses)',
      'bare, one SELECT, of 1,000,000',
    ),
    'unknown / one SELECT': ratio('unknown keys', 'bare, one SELECT'),
    'cached, 1,000,000 against 1,000 rows (asked: 0.9)': ratio('1,000 keys, of 1,000,000', '1,000 keys'),
    'unknown, 1,000,000 against 1,000 rows (asked: 0.9)': ratio('unknown keys, of 1,000,000', 'unknown keys'),
  }
}

/** Gives the keys values of another form than ours, as an import would. */
async function importedAs(keys: Kind): Promise<Kind> {
  const serverKeys = new ServerKeys(Buffer.from(world.secret, 'base64'))
  const made = keys.map(({ id }) => ({ id, key: `elsewhere_${hash('sha256', id)}` }))
  await world.sql(
    `update api_keys
        set hash = decode(value.hash, 'hex'), imported_hash = decode(value.hash, 'hex'), imported = true
       from json_to_recordset($1) as value(id text, hash text)
      where api_keys.id = value.id`,
    [
      JSON.stringify(
        made.map(({ id, key }) => ({ id, hash: hashImportedKey(serverKeys, storeId, sha256(key)).toString('hex') })),
      ),
    ],
  )
  return made
}

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
