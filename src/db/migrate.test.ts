import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import pino from 'pino'
import { expect, inject, onTestFinished, test } from 'vitest'
import { useBuild } from '../../tests/built.ts'
import { call } from '../../tests/command.ts'
import { poolerTo } from '../../tests/db-proxy.ts'
import { copyData } from '../../tests/prepared-data.ts'
import { apiAt } from '../../tests/shop.ts'
import { run } from '../cli/run.ts'
import { readConfig } from '../config.ts'
import { startService } from '../service.ts'
import type { Connection } from './db.ts'
import { joinEmbedded, startEmbedded } from './embedded/embedded.ts'
import { createSchema, migrate } from './migrate.ts'
import { openSession } from './session.ts'

const folder = join(import.meta.dirname, '../../migrations')
const files = readdirSync(folder).sort()
/** The server has other databases, with locks of their own. */
const ADVISORY = `from pg_locks
  where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`
const log = pino({ level: 'silent' })

useBuild()

test('eight nodes start at once on an empty database: each migration is applied once, and all of them serve', async () => {
  const url = await emptyDatabase()
  const said: string[] = []
  const env = { DATABASE_URL: url, SERVER_SECRET: randomBytes(32).toString('base64'), PORT: '0' }
  const services = await Promise.all(
    Array.from({ length: 8 }, () => startService(readConfig(env), log, (line) => said.push(line))),
  )
  onTestFinished(async () => void (await Promise.all(services.map((service) => service.close(0)))))
  expect(said.filter((line) => !line.startsWith('WARNING: PostgreSQL is version'))).toEqual(
    files.map((name) => `Applying migration ${name}`),
  )
  expect(await ask(url, 'select version, name, checksum from schema_migrations order by version')).toEqual(
    files.map((name) => ({
      version: Number(name.slice(0, 4)),
      name,
      checksum: createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    })),
  )
  const ready = await Promise.all(services.map((service) => apiAt(service.url).get('/readyz')))
  expect(ready.map(({ status, body }) => [status, body])).toEqual(Array(8).fill([200, { status: 'ready' }]))
})

test('a database that is up to date is left alone', async () => {
  const url = await emptyDatabase()
  await migrate({ connectionString: url })
  const before = await ask(url, 'select * from schema_migrations')
  const said: string[] = []
  await migrate({ connectionString: url }, (line) => said.push(line))
  expect(said).toEqual([])
  expect(await ask(url, 'select * from schema_migrations')).toEqual(before)
})

test('a migration that was altered after it was applied stops the start, and the lock is given back', async () => {
  const url = await emptyDatabase()
  await migrate({ connectionString: url })
  await ask(url, `update schema_migrations set checksum = 'altered' where version = 1`)
  const env = { DATABASE_URL: url, SERVER_SECRET: randomBytes(32).toString('base64'), PORT: '0' }
  for (let i = 0; i < 2; i++)
    await expect(startService(readConfig(env), log, () => {})) //
      .rejects.toThrow(`migrations/${files[0]} was changed after it had been applied to this database.`)
  await until(async () => (await ask(url, `select ${ADVISORY}`)).length === 0)
})

test('a migration never changes: a new one is a new line in tests/migrations.sha256', () => {
  const sums = files.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')}  ${name}`,
  )
  expect(`${sums.join('\n')}\n`).toBe(readFileSync('tests/migrations.sha256', 'utf8'))
})

test('an index is built beside the traffic, and a build that was broken off is made up for', async () => {
  const url = await emptyDatabase()
  const own = mkdtempSync(join(tmpdir(), 'migrations-'))
  onTestFinished(() => rmSync(own, { recursive: true, force: true }))
  writeFileSync(join(own, '0001_notes.sql'), 'create table notes (id int primary key, at int not null);')
  const migrateOwn = () => migrate({ connectionString: url }, () => {}, pathToFileURL(`${own}/`))
  await migrateOwn()
  writeFileSync(
    join(own, '0002_index.sql'),
    'create unique index concurrently notes_at_idx on notes (at);\nalter table notes add column text text;',
  )
  await ask(url, 'insert into notes values (1, 1), (2, 1)')
  await expect(migrateOwn()).rejects.toThrow('could not create unique index "notes_at_idx"')
  const index = () =>
    ask(url, `select indisvalid as valid from pg_index where indexrelid = to_regclass('notes_at_idx')`)
  expect(await index()).toEqual([{ valid: false }])
  await ask(url, 'update notes set at = 2 where id = 2')
  // A build that is not concurrent would wait for this transaction too, but the next insert would wait behind the build.
  const writer = await client(url)
  await writer.query('begin; update notes set at = 1 where id = 1')
  const done = migrateOwn()
  const building = `select from pg_stat_activity
    where query like '%index concurrently%' and wait_event_type = 'Lock' and datname = current_database()`
  await until(async () => (await ask(url, building)).length > 0)
  await ask(url, 'insert into notes values (3, 3)')
  await writer.query('commit')
  await done
  expect(await index()).toEqual([{ valid: true }])
  expect(await ask(url, 'select id, at, text from notes order by id')).toEqual([
    { id: 1, at: 1, text: null },
    { id: 2, at: 2, text: null },
    { id: 3, at: 3, text: null },
  ])
})

test('a migration that fails leaves nothing behind', async () => {
  const url = await emptyDatabase()
  await ask(url, 'create table service_tokens (something_else int)')
  await expect(migrate({ connectionString: url })).rejects.toThrow('relation "service_tokens" already exists')
  expect(await ask(url, 'select name from schema_migrations')).toEqual([])
  expect(await ask(url, `select table_name from information_schema.tables where table_schema = 'public' order by 1`)) //
    .toEqual([{ table_name: 'schema_migrations' }, { table_name: 'service_tokens' }])
  await ask(url, 'drop table service_tokens')
  await migrate({ connectionString: url })
  expect(await ask(url, 'select count(*)::int as n from schema_migrations')).toEqual([{ n: files.length }])
})

test('a node whose migrating neighbour dies takes over', async () => {
  const url = await emptyDatabase()
  const neighbour = await client(url)
  const [{ pid }] = (await neighbour.query('select pg_backend_pid() as pid, pg_advisory_lock(7305001)')).rows
  const waiting = migrate({ connectionString: url })
  const migrating = `select from pg_stat_activity where application_name = 'storekeeper migrate' and query like '%try%'`
  await until(async () => (await ask(url, `${migrating} and datname = current_database()`)).length > 0)
  expect(await ask(url, `select to_regclass('users')::text as it`)).toEqual([{ it: null }])
  await ask(url, `select pg_terminate_backend(${pid})`)
  await waiting
  expect(await ask(url, `select to_regclass('users')::text as it`)).toEqual([{ it: 'users' }])
})

test.each(['fsync', 'full_page_writes'])(
  'a database with %s off is refused, and its server is left as it was',
  async (name) => {
    // A server of its own: this setting is everybody's.
    const data = join(mkdtempSync(join(tmpdir(), 'unsafe-')), 'data')
    chmodSync(join(data, '..'), 0o755) // so that PostgreSQL may enter when we are root
    onTestFinished(() => rmSync(join(data, '..'), { recursive: true, force: true }))
    copyData('empty', data)
    const embedded = await startEmbedded(data, () => {})
    const session = new pg.Client(embedded.connection)
    await session.connect()
    const set = async (value: 'on' | 'off') => {
      await session.query(`alter system set ${name} = ${value}`)
      await session.query('select pg_reload_conf()')
      await until(async () => (await session.query(`select current_setting('${name}') as it`)).rows[0].it === value)
    }
    const refusal = `The database runs with ${name} off: a crash could lose data that was already confirmed. Turn ${name} on.`
    await set('off')
    await expect(migrate(embedded.connection)).rejects.toThrow(refusal)
    expect((await session.query(`select to_regclass('users')::text as it`)).rows).toEqual([{ it: null }])
    await session.end()
    await embedded.stop()

    await expect(startService(readConfig({ DATA_DIR: data, PORT: '0' }), log, () => {})).rejects.toThrow(refusal)
    const guest = await joinEmbedded(data, () => {})
    const again = new pg.Client(guest.connection)
    await again.connect()
    await again.query(`alter system reset ${name}`)
    await again.end()
    await guest.stop()
    const service = await startService(readConfig({ DATA_DIR: data, PORT: '0' }), log, () => {})
    expect((await apiAt(service.url).get('/readyz')).status).toBe(200)
    await service.close(0)
  },
)

test('a pooler that shares sessions between connections is refused at the start, with the reason', async () => {
  const url = await poolerTo(await emptyDatabase())
  const env = { DATABASE_URL: url, SERVER_SECRET: randomBytes(32).toString('base64'), PORT: '0' }
  await expect(startService(readConfig(env), log, () => {})).rejects.toThrow(
    'DATABASE_URL points to a pooler that shares sessions between connections (transaction or statement mode): connect directly, or through a pooler in session mode.',
  )
})

const NOT_TAKEN_OVER =
  'This database was made by an unreleased version of Storekeeper, whose data cannot be used. Set DATA_DIR to a new directory, or DATABASE_URL to a new database.'

/** What a command says, and how it ends. */
const refused = { code: 1, out: '', err: `${NOT_TAKEN_OVER}\n` }

test.each([
  [13, 'in part'],
  [13, 'in full'],
  [48, 'in part'],
  [48, 'in full'],
] as const)(
  'a database that an unreleased version, with %i migrations, has migrated %s is refused in one sentence, and is not touched',
  async (count, how) => {
    const url = await emptyDatabase()
    await migrateUnreleased({ connectionString: url }, count, how === 'in full')
    const before = await dump({ connectionString: url })
    const env = { DATABASE_URL: url, SERVER_SECRET: randomBytes(32).toString('base64'), PORT: '0' }
    await expect(startService(readConfig(env), log, () => {})).rejects.toThrow(NOT_TAKEN_OVER)
    const create = ['service-token', 'create', 'Checkout', '--all-stores']
    for (const words of [create, ['service-token', 'list'], ['events', 'head', '--all'], ['secret', 'status']])
      expect({ words, ...(await call(run, words, { env })) }).toMatchObject({ words, ...refused })
    // As processes once.
    if (count === 48 && how === 'in full')
      for (const args of [['dist/main.js'], ['dist/cli/main.js', ...create]])
        expect(spawn(args, env)).toEqual({
          args,
          status: 1,
          stdout: '',
          stderr: `${args.length === 1 ? 'Storekeeper could not start: ' : ''}${NOT_TAKEN_OVER}\n`,
        })
    expect(await dump({ connectionString: url })).toEqual(before)
  },
)

test('the data of an unreleased version is not restored', async () => {
  const client = await openSession({ connectionString: await emptyDatabase() }, 'restore')
  onTestFinished(() => client.end())
  const applied = [{ version: 1, name: '0001_users.sql', checksum: 'a'.repeat(64) }]
  await expect(createSchema(client, applied)).rejects.toThrow(
    'The data is of an unreleased version of Storekeeper and cannot be used.',
  )
})

test('an embedded database of an unreleased version is refused too, and no secret is made beside it', async () => {
  const data = join(mkdtempSync(join(tmpdir(), 'unreleased-')), 'data')
  chmodSync(join(data, '..'), 0o755) // so that PostgreSQL may enter when we are root
  onTestFinished(() => rmSync(join(data, '..'), { recursive: true, force: true }))
  copyData('empty', data)
  const inside = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const embedded = await startEmbedded(data, () => {})
    return work(embedded.connection).finally(embedded.stop)
  }
  await inside((connection) => migrateUnreleased(connection, 48, true))
  const before = await inside(dump)
  const files = readdirSync(data).sort()
  await expect(startService(readConfig({ DATA_DIR: data, PORT: '0' }), log, () => {})).rejects.toThrow(NOT_TAKEN_OVER)
  expect(await call(run, ['secret', 'rotate'], { env: { DATA_DIR: data } })).toMatchObject(refused)
  expect(readdirSync(data).sort()).toEqual(files)
  expect(await inside(dump)).toEqual(before)
})

test('a database of another program, or of a newer version, is not taken for one of an unreleased version', async () => {
  const foreign = await emptyDatabase()
  await ask(foreign, `create table schema_migrations (version text); insert into schema_migrations values ('20260101')`)
  await expect(migrate({ connectionString: foreign })).rejects.toThrow('column "checksum" does not exist')
  const newer = await emptyDatabase()
  await migrate({ connectionString: newer })
  await ask(newer, `insert into schema_migrations (version, name, checksum) values (99, '0099_later.sql', 'later')`)
  await migrate({ connectionString: newer })
})

// ---- helpers --------------------------------------------------------------------------------------------------------

async function emptyDatabase(): Promise<string> {
  const server = inject('databaseUrl')
  const name = `storekeeper_empty_${process.pid}_${randomBytes(4).toString('hex')}`
  await ask(server.replace('DATABASE', 'postgres'), `create database ${name}`)
  onTestFinished(async () => {
    await ask(server.replace('DATABASE', 'postgres'), `drop database if exists ${name} with (force)`)
  })
  return server.replace('DATABASE', name)
}

async function client(connectionString: string): Promise<pg.Client> {
  const made = new pg.Client({ connectionString })
  made.on('error', () => {})
  await made.connect()
  onTestFinished(() => made.end().catch(() => {}))
  return made
}

async function ask(connectionString: string, text: string): Promise<unknown[]> {
  const asking = new pg.Client({ connectionString })
  await asking.connect()
  return asking
    .query(text)
    .then(({ rows }) => rows)
    .finally(() => asking.end())
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10)))
    if (await condition()) return
  throw new Error('It did not happen.')
}

/** As the last commit before the migrations were squashed left it, twice: of its 13 or 48 the first one is kept. */
async function migrateUnreleased(connection: Connection, count: 13 | 48, inFull: boolean): Promise<void> {
  await migrate(connection, () => {}, pathToFileURL(join(import.meta.dirname, `../../tests/unreleased/of-${count}/`)))
  const session = new pg.Client(connection)
  await session.connect()
  await session.query(
    `insert into service_tokens (id, name, hash, created_at) values ('svc_1', 'Checkout', 'x', now())`,
  )
  await session.query(
    `insert into users (id, issuer, subject, data_key, data_key_kid, created_at, updated_at)
     values ('user_1', 'https://id.example.com', 'ada', 'x', 'kid', now(), now())`,
  )
  if (inFull)
    await session.query(
      `insert into schema_migrations (version, name, checksum)
       select n, to_char(n, 'FM0000') || '_another.sql', sha256(n::text::bytea)::text from generate_series(2, $1::int) as n`,
      [count],
    )
  await session.end()
}

/** Every row of every table with its place on disk and the transaction that wrote it, and every relation with its file. */
async function dump(connection: Connection): Promise<Record<string, unknown[]>> {
  const session = new pg.Client(connection)
  await session.connect()
  const read = async (text: string) => (await session.query(text)).rows
  const relations = await read(
    `select oid, relname, relkind, relfilenode, xmin from pg_class where relnamespace = 'public'::regnamespace order by oid`,
  )
  const found: Record<string, unknown[]> = { relations }
  for (const { relname } of relations.filter(({ relkind }) => relkind === 'r'))
    found[relname] = await read(`select ctid, xmin, xmax, * from ${relname} order by ctid`)
  await session.end()
  return found
}

function spawn(args: string[], env: Record<string, string>) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
  return { args, status, stdout, stderr }
}
