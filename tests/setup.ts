// One PostgreSQL for the whole run: the one in DATABASE_URL, or an embedded one in a temporary folder. A template database
// is migrated once, and every other is a copy of it. The embedded one commits without waiting for its disk: what has to
// outlive a crash is tested where the service is a process with a server of its own.

import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { hashPassword } from '../src/identity/passwords.ts'
import { runFolder } from './memory-disk.ts'
import { PASSWORD } from './password.ts'
import { prepareData } from './setup-data.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A URL with the word DATABASE where the name of a database goes. */
    databaseUrl: string
    template: string
    /** Of password.ts's PASSWORD. */
    passwordHash: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = process.env.DATABASE_URL ? given(process.env.DATABASE_URL) : await embedded()
  const template = `storekeeper_template_${process.pid}`
  const admin = new pg.Client({ connectionString: server.url.replace('DATABASE', 'postgres') })
  await admin.connect()
  await admin.query(`create database ${template}`)
  await migrate({ connectionString: server.url.replace('DATABASE', template) })
  project.provide('databaseUrl', server.url)
  project.provide('template', template)
  project.provide('passwordHash', await hashPassword({ ip: '127.0.0.1' }, PASSWORD))
  return async () => {
    if (process.env.DATABASE_URL) await dropAll(admin, template)
    await admin.end()
    await server.stop()
  }
}

/** The template, and all databases that were made of it. */
async function dropAll(admin: pg.Client, template: string): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(
    'select datname as name from pg_database where datname = $1 or starts_with(datname, $2)',
    [template, `${template}_`],
  )
  for (const { name } of rows) await admin.query(`drop database if exists ${name} with (force)`)
}

type Server = { url: string; stop(): Promise<void> }

function given(url: string): Server {
  const parsed = new URL(url)
  parsed.pathname = '/DATABASE'
  return { url: parsed.toString(), stop: async () => {} }
}

async function embedded(): Promise<Server> {
  const folder = runFolder()
  chmodSync(folder, 0o755) // else root's PostgreSQL, which runs as another user, would have to live elsewhere
  const data = join(folder, 'data')
  execFileSync('cp', ['-a', join(await prepareData(), 'empty'), data])
  const first = await startEmbedded(data, () => {})
  const session = new pg.Client(first.connection)
  await session.connect()
  await session.query('alter system set synchronous_commit = off')
  await session.query('alter system set max_connections = 300')
  // It would start a process every few hundred milliseconds: it goes round all databases, and there are hundreds.
  await session.query('alter system set autovacuum = off')
  await session.query(`alter system set shared_buffers = '128MB'`)
  await session.end()
  await first.stop()
  const { connection, stop } = await startEmbedded(data, () => {})
  const { host, port, user } = connection
  return {
    url: `postgres://${user}@localhost:${port}/DATABASE?host=${encodeURIComponent(host)}`,
    stop: async () => {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
