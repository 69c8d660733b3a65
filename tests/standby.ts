// A primary and its standby, both embedded, in temporary folders. The standby begins as a copy of the stopped primary: the
// npm package brings no pg_basebackup.

import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Embedded, startEmbedded } from '../src/db/embedded/embedded.ts'

export type TestServer = {
  /** The URL of a database, reached as this role. */
  url(database: string, role: string): string
  /** As the superuser, on a connection that stays open. */
  admin: pg.Client
}

export async function primaryAndStandby(): Promise<{ primary: TestServer; standby: TestServer }> {
  const folder = mkdtempSync(join(tmpdir(), 'standby-'))
  chmodSync(folder, 0o755) // so that PostgreSQL may enter when we are root
  const [first, second] = [join(folder, 'primary'), join(folder, 'standby')]
  await (await startEmbedded(first, () => {})).stop()
  mkdirSync(second)
  execFileSync('cp', ['-a', join(first, 'postgres'), join(second, 'postgres')])
  const { uid, gid } = statSync(join(first, 'postgres'))
  chownSync(second, uid, gid)
  const signal = join(second, 'postgres', 'standby.signal')
  writeFileSync(signal, '')
  chownSync(signal, uid, gid)
  const servers: Embedded[] = []
  onTestFinished(async () => {
    for (const server of servers.reverse()) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const start = async (dataDir: string): Promise<TestServer> => {
    const server = await startEmbedded(dataDir, () => {})
    servers.push(server)
    const admin = new pg.Client({ ...server.connection, application_name: 'admin' })
    admin.on('error', () => {})
    await admin.connect()
    onTestFinished(() => admin.end())
    const { host, port } = server.connection
    return {
      url: (database, role) => `postgres://${role}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
      admin,
    }
  }
  const primary = await start(first)
  const { host, port, user } = servers[0]?.connection as Embedded['connection']
  appendFileSync(
    join(second, 'postgres', 'postgresql.auto.conf'),
    `primary_conninfo = 'host=''${host}'' port=${port} user=${user}'\n`,
  )
  return { primary, standby: await start(second) }
}
