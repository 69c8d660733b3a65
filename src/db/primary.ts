// Which of the hosts in DATABASE_URL is the primary? Each new connection asks them all, at the same time: no order, name or
// report of a pooler is believed. A standby is passed over. The driver knows no list of hosts, so its client learns the host
// when it connects.
//
// Two different servers that both say that they are the primary are a split installation: one of them may accept what the
// other has refused, so none is used until there is one.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { urlsOfHosts } from '../core/database-url.ts'
import type { Connection } from './db.ts'
import { SeveralPrimaries, StandbyServer } from './errors.ts'

/** Only where no host says that it is the primary are all of them waited for. */
const ASK_TIMEOUT_MS = 2_000
/** How long the other hosts are waited for when one is the primary: those that are up answer at the same time. */
const OTHERS_MS = 100
/** A machine that was lost closes no connection: probes of the system find out. */
const KEEP_ALIVE_DELAY_MS = 10_000

type Place = { host: string; port: number }
type Asked = { place: Place; isStandby: boolean; server: string }

/** The client and the settings to connect with: to the only host, or to the primary of several. */
export function driverFor(connection: Connection): { Client: typeof pg.Client; settings: pg.ClientConfig } {
  const alive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS }
  if (!('connectionString' in connection)) return { Client: pg.Client, settings: { ...connection, ...alive } }
  const urls = urlsOfHosts(connection.connectionString)
  const settings = { connectionString: urls[0], ...alive }
  return { Client: urls.length === 1 ? pg.Client : clientOfPrimary(urls), settings }
}

function clientOfPrimary(urls: string[]): typeof pg.Client {
  let asking: Promise<Place> | null = null
  // Those who connect at the same time ask together.
  const find = () => {
    asking ??= findPrimary(urls).finally(() => {
      asking = null
    })
    return asking
  }
  class PrimaryClient extends pg.Client {
    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void) {
      const connected = find().then((place) => {
        // The driver reads these when it connects, the second for passwords that are kept by host.
        Object.assign(this, place)
        Object.assign((this as unknown as { connectionParameters: Place }).connectionParameters, place)
        return super.connect()
      })
      if (!callback) return connected
      // The driver's callback gets null when there is no error.
      return void connected.then(() => callback(null as never), callback)
    }
  }
  return PrimaryClient as typeof pg.Client
}

async function findPrimary(urls: string[]): Promise<Place> {
  const primaries = new Map<string, Place>()
  const reasons: unknown[] = []
  const asked = urls.map(async (url) => {
    try {
      const { place, isStandby, server } = await ask(url)
      if (isStandby) reasons.push(new StandbyServer())
      else primaries.set(server, place)
    } catch (error) {
      reasons.push(error)
    }
    if (primaries.size === 0) throw new Error('no primary yet')
  })
  const first = Promise.any(asked).then(
    () => sleep(OTHERS_MS, undefined, { ref: false }),
    () => {},
  )
  await Promise.race([Promise.allSettled(asked), first])
  const [found, another] = primaries.values()
  if (found && another) throw new SeveralPrimaries()
  if (found) return found
  // A standby that answers says more than a host that does not.
  throw reasons.find((reason) => reason instanceof StandbyServer) ?? reasons[0]
}

/** The same server may have two names: it is known by the moment it was started. */
async function ask(connectionString: string): Promise<Asked> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: ASK_TIMEOUT_MS,
    query_timeout: ASK_TIMEOUT_MS,
    application_name: 'storekeeper primary',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ is_standby: boolean; server: string }>(
      'select pg_is_in_recovery() as is_standby, pg_postmaster_start_time()::text as server',
    )
    const [{ is_standby: isStandby, server } = { is_standby: true, server: '' }] = rows
    return { place: { host: client.host, port: client.port }, isStandby, server }
  } finally {
    client.end().catch(() => {})
  }
}
