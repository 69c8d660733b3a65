// Which of the hosts in DATABASE_URL is the primary? Each new connection asks them all, at the same time, and so does a watch
// while there are connections: no order, name or report of a pooler is believed. A standby is passed over. The driver knows
// no list of hosts, so its client learns the host when it connects.
//
// Two different servers that both say that they are the primary are a split installation: one of them may accept what the
// other has refused, so none is used until there is one.

import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { urlsOfHosts } from '../core/database-url.ts'
import type { Connection } from './db.ts'
import { isSoonBetter, SeveralPrimaries, StandbyServer } from './errors.ts'

const ASK_TIMEOUT_MS = 2_000
/** How long a new connection waits for the other hosts when one is the primary: most that are up answer at the same time. */
const OTHERS_MS = 100
/** How often the hosts are asked while there are connections. */
const WATCH_MS = 1_000
/** A machine that was lost closes no connection: probes of the system find out. */
const KEEP_ALIVE_DELAY_MS = 10_000

type Place = { host: string; port: number }
/** `server` tells two servers apart: see `ask`. */
type Primary = { place: Place; server: string }
type Asked = Primary & { isStandby: boolean }

/** The client and the settings to connect with: to the only host, or to the primary of several. */
export function driverFor(connection: Connection): { Client: typeof pg.Client; settings: pg.ClientConfig } {
  const alive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS }
  if (!('connectionString' in connection)) return { Client: pg.Client, settings: { ...connection, ...alive } }
  const urls = urlsOfHosts(connection.connectionString)
  const settings = { connectionString: urls[0], ...alive }
  return { Client: urls.length === 1 ? ServerClient : clientOfPrimary(urls), settings }
}

/**
 * The driver leaves a connection open when the login fails on this side, such as for want of a password: the server would keep it
 * for a minute.
 */
class ServerClient extends pg.Client {
  override connect(): Promise<this>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void) {
    const closeIf = (error: unknown) => {
      if (error) streamOf(this).destroy()
    }
    if (callback)
      return super.connect((error: Error) => {
        closeIf(error)
        callback(error)
      })
    const connected = super.connect()
    connected.catch(closeIf)
    return connected
  }
}

function clientOfPrimary(urls: string[]): typeof pg.Client {
  const name = urls.join(' ')
  const watch = watches.get(name) ?? new PrimaryWatch(urls)
  watches.set(name, watch)
  class PrimaryClient extends ServerClient {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      // Its user listens once it is connected, which here is a moment later: an error in between would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<this>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void) {
      const connected = watch.find().then(async ({ place, server }) => {
        // The driver reads these when it connects, the second for passwords that are kept by host.
        Object.assign(this, place)
        Object.assign((this as unknown as { connectionParameters: Place }).connectionParameters, place)
        await super.connect()
        watch.add(this, server)
        return this
      })
      if (!callback) return connected
      // The driver's callback gets null when there is no error.
      return void connected.then(() => callback(null as never), callback)
    }
  }
  return PrimaryClient as typeof pg.Client
}

/** One for each list of hosts: all connections of a process lead to the same server. */
const watches = new Map<string, PrimaryWatch>()

/**
 * An old primary that nobody has stopped, or that was frozen while another took over, still answers whoever is connected to it. So
 * while there are connections the hosts are asked again and again, and those to any other server than the primary are closed; all
 * of them are while there are two.
 */
class PrimaryWatch {
  readonly #urls: string[]
  readonly #open = new Map<pg.Client, string>()
  #asking: Promise<Primary> | null = null
  #isWatching = false
  /** How often the hosts were asked, and the number of the last time that two were the primary; null: there is one. */
  #asked = 0
  #split: number | null = null

  constructor(urls: string[]) {
    this.#urls = urls
  }

  /** Those who connect at the same time ask together. */
  find(): Promise<Primary> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  add(client: pg.Client, server: string): void {
    if (this.#split !== null) {
      streamOf(client).destroy()
      throw new SeveralPrimaries()
    }
    this.#open.set(client, server)
    client.once('end', () => this.#open.delete(client))
    if (!this.#isWatching) void this.#watch()
  }

  /** The answer of a host that is far away may come when others have connected already: it counts all the same. */
  async #ask(): Promise<Primary> {
    this.#asked += 1
    const number = this.#asked
    const { soon, whole } = askAll(this.#urls)
    whole.then(
      () => {
        if (this.#split !== null && number > this.#split) this.#split = null
      },
      (error) => this.#hearOfSplit(number, error),
    )
    try {
      if (this.#split === null) await soon
      const found = await (this.#split === null ? soon : whole)
      this.#closeAllBut(found.server)
      return found
    } catch (error) {
      this.#hearOfSplit(number, error)
      throw error
    }
  }

  #hearOfSplit(number: number, error: unknown): void {
    if (!(error instanceof SeveralPrimaries)) return
    this.#split = Math.max(number, this.#split ?? 0)
    this.#closeAllBut(null)
  }

  #closeAllBut(primary: string | null): void {
    for (const [client, server] of this.#open)
      if (server !== primary) {
        this.#open.delete(client)
        streamOf(client).destroy(new Error('The database is not the primary, or not the only one'))
      }
  }

  async #watch(): Promise<void> {
    this.#isWatching = true
    while (this.#open.size > 0) {
      await sleep(WATCH_MS, undefined, { ref: false })
      await this.find().catch(() => {})
    }
    this.#isWatching = false
  }
}

/** Not in the driver's types. Nothing is said to the server, which may be frozen. */
function streamOf(client: pg.Client): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream
}

/** `soon`: of those who answer at about the same time as the first primary. `whole`: of all. */
function askAll(urls: string[]): { soon: Promise<Primary>; whole: Promise<Primary> } {
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
  const decide = (): Primary => {
    const [found, another] = primaries
    if (found && another) throw new SeveralPrimaries()
    if (found) return { server: found[0], place: found[1] }
    // A server that is full or starting may be the primary; a standby that answers says more than a host that does not.
    throw reasons.find(isSoonBetter) ?? reasons.find((reason) => reason instanceof StandbyServer) ?? reasons[0]
  }
  const all = Promise.allSettled(asked)
  const first = Promise.any(asked).then(
    () => sleep(OTHERS_MS, undefined, { ref: false }),
    () => all,
  )
  const soon = Promise.race([all, first]).then(decide)
  soon.catch(() => {}) // Not every asker waits for it.
  return { soon, whole: all.then(decide) }
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
