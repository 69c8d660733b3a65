// A primary and its standby, both embedded, in temporary folders. The standby begins as a copy of the stopped primary: the
// npm package brings no pg_basebackup.

import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Embedded, startEmbedded } from '../src/db/embedded/embedded.ts'
import { copyData } from './prepared-data.ts'

export type TestServer = {
  /** The URL of a database, reached as this role. */
  url(database: string, role: string): string
  /** The directory of its socket, and its port. */
  place: { host: string; port: number }
  /** As the superuser, on a connection that stays open. */
  admin: pg.Client
  stop(): Promise<void>
}

export type ServerPair = {
  primary: TestServer
  standby: TestServer
  /** Starts the stopped primary again, as a standby of the other server, which was promoted. */
  startAsStandby(): Promise<TestServer>
}

export async function primaryAndStandby(): Promise<ServerPair> {
  const folder = mkdtempSync(join(tmpdir(), 'standby-'))
  chmodSync(folder, 0o755) // so that PostgreSQL may enter when we are root
  const [first, second] = [join(folder, 'primary'), join(folder, 'standby')]
  copyData('empty', first)
  mkdirSync(second)
  execFileSync('cp', ['-a', join(first, 'postgres'), join(second, 'postgres')])
  const { uid, gid } = statSync(join(first, 'postgres'))
  chownSync(second, uid, gid)
  const follow = (dataDir: string, { host, port, user }: Embedded['connection']) => {
    const signal = join(dataDir, 'postgres', 'standby.signal')
    writeFileSync(signal, '')
    chownSync(signal, uid, gid)
    appendFileSync(
      join(dataDir, 'postgres', 'postgresql.auto.conf'),
      `primary_conninfo = 'host=''${host}'' port=${port} user=${user}'\n`,
    )
  }
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
      place: { host, port },
      admin,
      stop: server.stop,
    }
  }
  const primary = await start(first)
  follow(second, servers[0]?.connection as Embedded['connection'])
  const standby = await start(second)
  const startAsStandby = () => {
    follow(first, servers[1]?.connection as Embedded['connection'])
    return start(first)
  }
  return { primary, standby, startAsStandby }
}
