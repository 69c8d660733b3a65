// A node whose server secret is not the database's does not start, and says which setting is wrong.

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { call } from '../../tests/command.ts'
import { copyData } from '../../tests/prepared-data.ts'
import { NEW_KEY, newDatabase, shop } from '../../tests/shop.ts'
import { run as runCommand } from '../cli/run.ts'
import { readConfig } from '../config.ts'
import { newKeyring } from '../crypto/keyring.ts'
import { Secret } from '../crypto/secret.ts'
import { startService } from '../service.ts'
import { connect } from './pool.ts'
import { checkServerSecret } from './secret-check.ts'
import { sql } from './sql.ts'

const log = pino({ level: 'silent' })
const newSecret = () => randomBytes(32).toString('base64')
const keyringOf = (secret: string, previous: string | null = null) =>
  newKeyring(new Secret(secret), previous === null ? null : new Secret(previous))

const WRONG = 'SERVER_SECRET is not the secret that this database is used with.'
const MISSING = 'SERVER_SECRET_PREVIOUS is missing or wrong'

test('a node that starts while its check is kept waiting asks again, and starts in the end', async () => {
  const url = await newDatabase()
  const db = connect({ connectionString: url })
  onTestFinished(() => db.close())
  const waiting = async () => {
    const [first] = await db.query<{ pid: number }>(sql`
      select pid
        from pg_stat_activity
       where datname = current_database()
         and wait_event_type = 'Lock'
         and query like 'lock table server_secret_checks%'`)
    return first?.pid
  }
  const env = { DATABASE_URL: url, SERVER_SECRET: newSecret(), PORT: '0' }
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('begin; lock table server_secret_checks in share row exclusive mode')
  const starting = startService(readConfig(env), log, () => {})
  onTestFinished(async () => (await starting).close(0))
  await expect.poll(waiting).toBeDefined()
  await expect.poll(waiting).toBeUndefined()
  await expect.poll(waiting).toBeDefined()
  await other.query('commit')
  expect((await fetch(`${(await starting).url}/readyz`)).status).toBe(200)
})

test('a node with another secret than the database does not start, in each step of a change of the secret', async () => {
  const { api, owner, keys, databaseUrl, serverSecret: a, sql } = await shop({ alone: true })
  await api.post(keys, NEW_KEY, { as: owner.token })
  const [b, c] = [newSecret(), newSecret()]
  const db = connect({ connectionString: databaseUrl })
  onTestFinished(() => db.close())
  const start = (current: string, previous: string | null = null) =>
    checkServerSecret(db, keyringOf(current, previous), null)

  const env = { DATABASE_URL: databaseUrl, SERVER_SECRET: c, PORT: '0' }
  await expect(startService(readConfig(env), log, () => {})).rejects.toThrow(WRONG)
  const refused = await call(runCommand, ['secret', 'rewrap'], { env })
  expect([refused.code, refused.err.startsWith(WRONG)]).toEqual([1, true])
  await expect(start(c, b)).rejects.toThrow(WRONG)

  // The first round: every node learns the new secret as its previous one. A node that does not know it yet may restart.
  await start(a, b)
  await start(a)
  // The second round: the two are exchanged. From now on each node must know both.
  await start(b, a)
  await start(a, b)
  for (const [current, previous] of [
    [a, null],
    [b, null],
    [a, c],
    [b, c],
    [c, a],
    [c, b],
  ] as const)
    await expect(start(current, previous), `${current === a}`).rejects.toThrow(MISSING)
  await expect(start(c)).rejects.toThrow(WRONG)

  // What can be moved is moved, and the old one is taken out of the settings of one node after the other.
  const settings = { DATABASE_URL: databaseUrl, SERVER_SECRET: b, SERVER_SECRET_PREVIOUS: a }
  expect((await call(runCommand, ['secret', 'rewrap'], { env: settings })).code).toBe(0)
  await start(b)
  await start(b, a)
  await expect(start(a)).rejects.toThrow(WRONG)
  expect(await sql('select kid from server_secret_checks')).toEqual([{ kid: keyringOf(b).current.kid }])
  expect((await api.get('/readyz')).status).toBe(200)
})

test('a change whose old secret is lost ends by force', async () => {
  const { databaseUrl, serverSecret: a } = await shop({ alone: true })
  const b = newSecret()
  const db = connect({ connectionString: databaseUrl })
  onTestFinished(() => db.close())
  await checkServerSecret(db, keyringOf(b, a), null)
  await expect(checkServerSecret(db, keyringOf(b), null)).rejects.toThrow(MISSING)
  await call(runCommand, ['secret', 'retire', '--force'], { env: { DATABASE_URL: databaseUrl, SERVER_SECRET: b } })
  await checkServerSecret(db, keyringOf(b), null)
})

test('of two first starts with different secrets one is let in, and a database from before is taken by its own secret only', async () => {
  const url = await newDatabase()
  const db = connect({ connectionString: url })
  onTestFinished(() => db.close())
  const starts = await Promise.allSettled(
    Array.from({ length: 6 }, () => checkServerSecret(db, keyringOf(newSecret()), null)),
  )
  expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)

  const { owner, api, keys, databaseUrl, serverSecret, sql } = await shop({ alone: true })
  await api.post(keys, NEW_KEY, { as: owner.token })
  await sql('delete from server_secret_checks')
  const before = connect({ connectionString: databaseUrl })
  onTestFinished(() => before.close())
  await expect(checkServerSecret(before, keyringOf(newSecret()), null)).rejects.toThrow(WRONG)
  const fresh = newSecret()
  await checkServerSecret(before, keyringOf(fresh, serverSecret), null)
  expect(await sql('select kid from server_secret_checks order by kid')).toEqual(
    [fresh, serverSecret]
      .map((secret) => ({ kid: keyringOf(secret).current.kid }))
      .sort((x, y) => (x.kid < y.kid ? -1 : 1)),
  )
  await sql('delete from server_secret_checks')
  await checkServerSecret(before, keyringOf(serverSecret), null)
})

test('an embedded database with another server-secret beside it does not start', async () => {
  const data = join(mkdtempSync(join(tmpdir(), 'swapped-')), 'data')
  chmodSync(join(data, '..'), 0o755) // so that PostgreSQL may enter when we are root
  onTestFinished(() => rmSync(join(data, '..'), { recursive: true, force: true }))
  copyData('migrated', data)
  const config = readConfig({ DATA_DIR: data, PORT: '0' })
  const start = () => startService(config, log, () => {})
  await (await start()).close(0)
  const file = join(data, 'server-secret')
  const secret = readFileSync(file, 'utf8')
  writeFileSync(file, `${newSecret()}\n`)
  await expect(start()).rejects.toThrow(
    `The file server-secret in ${data} is not the secret that this database is used with`,
  )
  writeFileSync(file, secret)
  expect((await call(runCommand, ['secret', 'rotate'], { env: { DATA_DIR: data } })).code).toBe(0)
  await (await start()).close(0)
  // Both files gone back to the old one, as from a backup of the folder without the database.
  renameSync(join(data, 'server-secret.previous'), file)
  await expect(start()).rejects.toThrow(`The file server-secret.previous is missing in ${data}`)
})
