// npm run stress:upgrade: an embedded database of PostgreSQL 17 with ROWS rows (default 1,000,000) is upgraded to the version
// that comes along, and killed (SIGKILL) KILLS times (default 20) at a random moment, and KILLS / 2 times while the new
// database takes the place of the old one. After each kill every row must be in the old database, or in the new one. Then
// it is upgraded to the end, a backup of it is restored, and the service is started on that.

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import pino from 'pino'
import { readConfig } from '../../src/config.ts'
import { newKeyring } from '../../src/crypto/keyring.ts'
import { readOrCreateSecret } from '../../src/crypto/secret-file.ts'
import type { Connection } from '../../src/db/db.ts'
import { findEarlierPackage, findInstallation, run } from '../../src/db/embedded/binaries.ts'
import { locateCluster, makePrivate } from '../../src/db/embedded/cluster.ts'
import { startEmbedded } from '../../src/db/embedded/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { connect } from '../../src/db/pool.ts'
import { sealAll } from '../../src/events/seal.ts'
import { startService } from '../../src/service.ts'
import { newRandom } from '../../tests/random.ts'

const ROWS = Number(process.env.ROWS ?? 1_000_000)
const KILLS = Number(process.env.KILLS ?? 20)
const random = newRandom()
const installations = {
  17: { ...findInstallation(), packageRoot: findEarlierPackage('17') },
  18: findInstallation(),
}
const top = mkdtempSync(join(tmpdir(), 'upgrade-'))
chmodSync(top, 0o755)
const data = join(top, 'data')
const quiet = () => {}
const seconds = (since: number) => Math.round((performance.now() - since) / 100) / 10
const log = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`)

/** Five rows for each: a key, its usage, its event, the seal of that, and a stored response. */
const FILL = (count: number, kid: string) => `
  insert into stores (id, name, account_id, created_at, updated_at)
  select 'store_' || n, 'Store ' || n, 'nobody', now(), now() from generate_series(0, 99) as n;
  insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                        created_by_id, created_at, updated_at)
  select 'key_' || n, 'store_' || n % 100, 'Key ' || n, 'PROD', '{READ,WRITE}', '{"description":"tab\\t and \\\\ "}',
         'skp_prod_' || n, sha256(n::text::bytea), '${kid}', 'user', 'user_' || n % 1000, now(), now()
    from generate_series(1, ${count}) as n;
  insert into key_usage (key_id, grain, at, outcome, count)
  select 'key_' || n, 'hour', date_trunc('hour', now()), 'VALID', n from generate_series(1, ${count}) as n;
  insert into idempotent_responses (lookup, fingerprint, reveals_secret, status, kid, salt, sealed, created_at)
  select sha256(('l' || n)::bytea), sha256(('f' || n)::bytea), false, 201, '${kid}', sha256('s'), sha256('t') || sha256('u'), now()
    from generate_series(1, ${count}) as n;
  insert into events (id, store_id, type, at, actor, subject, data)
  select 'evt_' || lpad(n::text, 12, '0'), 'store_' || n % 100, 'key.created', date_trunc('milliseconds', now()),
         json_build_object('kind', 'user', 'id', 'user_' || n % 1000, 'ip', '127.0.0.1'), 'key_' || n,
         json_build_object('name', 'Key ' || n, 'type', 'PROD', 'permissions', '{READ,WRITE}'::text[])
    from generate_series(1, ${count}) as n`

async function prepare(): Promise<void> {
  const cluster = await locateCluster(data, quiet, installations[17])
  await makePrivate(cluster.pgdata, cluster.user)
  const args = [`--pgdata=${cluster.pgdata}`, '--username=storekeeper', '--auth=trust', '--encoding=UTF8', '--locale=C']
  const failure = await run(join(cluster.bin, 'initdb'), args, cluster.user)
  if (failure) throw new Error(failure)
  const { connection, stop } = await startEmbedded(data, quiet, installations[17])
  await migrate(connection)
  const { kid } = newKeyring(readOrCreateSecret(data), null).current
  const db = connect(connection)
  await sealAll(db) // so that the watermark is of this server, and what follows is sealed batch by batch
  await query(connection, FILL(Math.round(ROWS / 5), kid))
  await query(connection, 'analyze')
  await sealAll(db)
  await db.close()
  await stop()
}

async function query(connection: Connection, text: string): Promise<any[]> {
  const client = new pg.Client(connection)
  await client.connect()
  return client
    .query(text)
    .then(({ rows }) => rows)
    .finally(() => client.end())
}

type Version = keyof typeof installations

/** The number of rows of each table, and a sum over their contents. */
async function digest(version: Version): Promise<string> {
  const { connection, stop } = await startEmbedded(data, quiet, installations[version])
  try {
    const tables = await query(
      connection,
      `select relname as name from pg_class where relkind = 'r' and relpersistence = 'p' and relnamespace = 'public'::regnamespace order by 1`,
    )
    const rows = tables.map(
      ({ name }) =>
        `select '${name}' as name, count(*), sum(('x' || left(md5(t::text), 15))::bit(60)::bigint)::text as sum from ${name} t`,
    )
    return JSON.stringify(await query(connection, `${rows.join(' union all ')} order by name`))
  } finally {
    await stop()
  }
}

/** Which database a start would find: of a kill between the last two renames, the new one. */
function versionThere(): Version {
  const pgdata = ['postgres', 'postgres.upgraded'].map((name) => join(data, name)).find((path) => existsSync(path))
  return Number(readFileSync(join(pgdata ?? data, 'PG_VERSION'), 'utf8')) as Version
}

function storekeeper(...args: string[]) {
  const child = spawn(process.execPath, ['bin/storekeeper.js', ...args], {
    env: { PATH: process.env.PATH, DATA_DIR: data },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let err = ''
  child.stderr.on('data', (text) => {
    err += text
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { kill: () => child.kill('SIGKILL'), ended, err: () => err }
}

async function upgradeToTheEnd(): Promise<number> {
  const began = performance.now()
  const command = storekeeper('upgrade-database')
  if ((await command.ended) !== 0) throw new Error(command.err())
  return seconds(began)
}

function goBack(): void {
  rmSync(join(data, 'postgres'), { recursive: true })
  renameSync(join(data, 'postgres-17'), join(data, 'postgres'))
}

const found = { old: 0, new: 0, wrong: 0 }

async function check(expected: string, what: string): Promise<void> {
  const version = versionThere()
  const isRight = (await digest(version)) === expected
  found[isRight ? (version === 17 ? 'old' : 'new') : 'wrong'] += 1
  log(`${what}: PostgreSQL ${version} ${isRight ? 'has every row' : 'HAS OTHER ROWS'}`)
  if (version === 18) goBack()
}

log(`seed ${random.seed}, in ${top}`)
spawnSync(process.execPath, ['bin/storekeeper.js', 'help'], { stdio: 'ignore' }) // builds
let began = performance.now()
await prepare()
log(`${ROWS} rows in PostgreSQL 17 after ${seconds(began)} s`)
const expected = await digest(17)
const whole = await upgradeToTheEnd()
log(`upgraded in ${whole} s`)
await check(expected, 'not killed')

for (let kill = 1; kill <= KILLS; kill++) {
  const command = storekeeper('upgrade-database')
  const moment = random.next() * whole * 1000
  await Promise.race([sleep(moment), command.ended])
  command.kill()
  await command.ended
  await check(expected, `kill ${kill} after ${Math.round(moment)} ms`)
}
for (let kill = 1; kill <= KILLS / 2; kill++) {
  const command = storekeeper('upgrade-database')
  const complete = new Promise<void>((resolve) => {
    const watcher = watch(data, (_, name) => {
      if (name !== 'postgres.upgraded') return
      watcher.close()
      resolve()
    })
  })
  await Promise.race([complete, command.ended])
  const moment = random.next() * 200
  await Promise.race([sleep(moment), command.ended])
  command.kill()
  await command.ended
  await check(expected, `kill ${kill} at the switch, after ${Math.round(moment)} ms`)
}

log(`upgraded in ${await upgradeToTheEnd()} s`)
if ((await digest(18)) !== expected) found.wrong += 1
const file = join(top, 'storekeeper.backup')
began = performance.now()
const backup = storekeeper('backup', file)
if ((await backup.ended) !== 0) throw new Error(backup.err())
log(`backed up in ${seconds(began)} s, ${Math.round(statSync(file).size / 1e6)} MB`)
renameSync(data, `${data}-before`)
await locateCluster(data, quiet, installations[18])
spawnSync('cp', [join(`${data}-before`, 'server-secret'), data])
began = performance.now()
const restore = storekeeper('restore', file)
if ((await restore.ended) !== 0) throw new Error(restore.err())
log(`restored in ${seconds(began)} s: ${restore.err().match(/Restored: .*/)?.[0]}`)
if ((await digest(18)) !== expected) found.wrong += 1
began = performance.now()
const service = await startService(readConfig({ DATA_DIR: data, PORT: '0' }), pino({ level: 'silent' }), log)
log(`the service listens after ${seconds(began)} s`)
await service.close(0)
console.table(found)
rmSync(top, { recursive: true, force: true })
process.exitCode = found.wrong > 0 ? 1 : 0
