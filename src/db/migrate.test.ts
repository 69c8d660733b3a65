import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import { expect, inject, onTestFinished, test } from 'vitest'
import { apiAt } from '../../tests/shop.ts'
import { readConfig } from '../config.ts'
import { startService } from '../service.ts'
import { borrowEmbedded, startEmbedded } from './embedded.ts'
import { migrate } from './migrate.ts'

const folder = join(import.meta.dirname, '../../migrations')
const files = readdirSync(folder).sort()
/** The server has other databases, with locks of their own. */
const ADVISORY = `from pg_locks
  where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`
const log = pino({ level: 'silent' })

test('eight nodes start at once on an empty database: each migration is applied once, and all of them serve', async () => {
  const url = await emptyDatabase()
  const said: string[] = []
  const env = { DATABASE_URL: url, SERVER_SECRET: randomBytes(32).toString('base64'), PORT: '0' }
  const services = await Promise.all(
    Array.from({ length: 8 }, () => startService(readConfig(env), log, (line) => said.push(line))),
  )
  onTestFinished(async () => void (await Promise.all(services.map((service) => service.close(0)))))
  expect(said).toEqual(files.map((name) => `Applying migration ${name}`))
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

test('a database with the first text of 0005 starts, and gets the indexes that all others have', async () => {
  const url = await emptyDatabase()
  await migrate({ connectionString: url })
  const indexes = () => ask(url, `select indexdef from pg_indexes where schemaname = 'public' order by indexname`)
  const all = await indexes()
  await ask(
    url,
    `drop index address_defaults_by_user, events_about_person, events_of_person, invitations_by_email, invitations_by_accepter;
     create index events_of_person on events ((actor ->> 'id'), id) where store_id is null;
     create index invitations_by_email on invitations (email);
     create index invitations_by_accepter on invitations (accepted_by) where accepted_by is not null;
     delete from schema_migrations where version = 12;
     update schema_migrations set checksum = '835fbe9020aa8673fdb8b7862d8e6238114b1ad7d42e686a0c6c3fdc5355d05d' where version = 5`,
  )
  const said: string[] = []
  await migrate({ connectionString: url }, (line) => said.push(line))
  expect(said).toEqual(['Applying migration 0012_privacy_indexes.sql'])
  expect(await indexes()).toEqual(all)
})

test('a migration that fails leaves nothing behind', async () => {
  const url = await emptyDatabase()
  await ask(url, 'create table events (something_else int)')
  await expect(migrate({ connectionString: url })).rejects.toThrow('relation "events" already exists')
  expect(await ask(url, 'select name from schema_migrations')).toEqual([])
  expect(await ask(url, `select table_name from information_schema.tables where table_schema = 'public' order by 1`)) //
    .toEqual([{ table_name: 'events' }, { table_name: 'schema_migrations' }])
  await ask(url, 'drop table events')
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
    const embedded = await startEmbedded(data, () => {})
    const session = new pg.Client(embedded.connection)
    await session.connect()
    const set = async (value: 'on' | 'off') => {
      await session.query(`alter system set ${name} = ${value}`)
      await session.query('select pg_reload_conf()')
      await until(async () => (await session.query(`select current_setting('${name}') as it`)).rows[0].it === value)
    }
    const refusal = `The database runs with ${name} off: a crash could lose what was confirmed. Turn ${name} on.`
    await set('off')
    await expect(migrate(embedded.connection)).rejects.toThrow(refusal)
    expect((await session.query(`select to_regclass('users')::text as it`)).rows).toEqual([{ it: null }])
    await session.end()
    await embedded.stop()

    await expect(startService(readConfig({ DATA_DIR: data, PORT: '0' }), log, () => {})).rejects.toThrow(refusal)
    const guest = await borrowEmbedded(data, () => {})
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
  for (const end = Date.now() + 10_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 10)))
    if (await condition()) return
  throw new Error('It did not happen.')
}
