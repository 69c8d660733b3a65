// The databases of a worker: copies of the run's template, made by one connection.

import pg from 'pg'
import { inject } from 'vitest'

let databases = 0
let admin: Promise<pg.Client> | undefined

export async function createDatabase(template = inject('template')): Promise<string> {
  const url = inject('databaseUrl')
  databases += 1
  const name = `${inject('template')}_${process.pid}_${databases}`
  await asAdmin(`create database ${name} template ${template}`)
  return url.replace('DATABASE', name)
}

/** Ends the connections that a test has left behind. */
export async function disconnect(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1)
  await asAdmin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
}

async function asAdmin(statement: string): Promise<void> {
  admin ??= connectTo(inject('databaseUrl').replace('DATABASE', 'postgres'))
  await (await admin).query(statement)
}

async function connectTo(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  return client
}
