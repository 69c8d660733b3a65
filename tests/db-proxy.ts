// A wire to the database that a test can mute and cut, to lose an answer whose question has arrived.

import net from 'node:net'
import { onTestFinished } from 'vitest'

export type DbProxy = {
  /** The database, reached through the wire. */
  url: string
  /** From now on questions arrive and answers do not. */
  mute(): void
  /** The same, from the first question on that contains the text. Resolves when that has come. */
  muteAt(text: string): Promise<void>
  /** Breaks every connection. Those made afterwards work. */
  cut(): void
  /** Breaks every connection. Those made afterwards lead to another server. */
  moveTo(databaseUrl: string): void
  /** Connections made afterwards lead to another server. Those that are open stay. */
  leadTo(databaseUrl: string): void
  /** The next connection of a pool is lost just as it is made: the server's farewell comes with its readiness. */
  loseNext(): void
  /** The start-up messages of all connections so far, as text. */
  startUps(): string[]
}

const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5])
const FAREWELL = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'
const TERMINATED = Buffer.from(`E\0\0\0${String.fromCharCode(FAREWELL.length + 4)}${FAREWELL}`, 'latin1')

/** With a delay, each answer comes so much later. */
export async function proxyTo(databaseUrl: string, delayMs = 0): Promise<DbProxy> {
  let there = new URL(databaseUrl)
  const startUps: string[] = []
  const startUpOf = new WeakMap<net.Socket, Buffer>()
  const near = new Set<net.Socket>()
  let muted = false
  let awaited: { text: string; come: () => void } | null = null
  let losesNext = false
  const server = net.createServer((socket) => {
    near.add(socket)
    const far = net.connect(placeOf(there))
    socket.once('data', (bytes) => {
      startUps.push(bytes.toString('latin1'))
      startUpOf.set(socket, bytes)
    })
    socket.on('data', (bytes) => {
      if (awaited && bytes.includes(awaited.text)) awaited.come()
      far.write(bytes)
    })
    const answer = (bytes: Buffer) => {
      const isLost =
        losesNext &&
        startUpOf.get(socket)?.includes('application_name\0storekeeper\0') &&
        bytes.includes(READY_FOR_QUERY)
      if (isLost) losesNext = false
      if (isLost) socket.end(Buffer.concat([bytes, TERMINATED]))
      else if (!muted) socket.write(bytes)
    }
    far.on('data', (bytes) => (delayMs > 0 ? setTimeout(answer, delayMs, bytes) : answer(bytes)))
    for (const [end, other] of [
      [socket, far],
      [far, socket],
    ] as const) {
      end.on('error', () => {})
      end.on('close', () => other.destroy())
    }
    socket.on('close', () => near.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of near) socket.destroy()
    muted = false
  }
  onTestFinished(() => {
    cut()
    server.close()
  })

  return {
    url: urlAt(databaseUrl, server),
    mute: () => {
      muted = true
    },
    muteAt: (text) =>
      new Promise((resolve) => {
        const come = () => {
          muted = true
          awaited = null
          resolve()
        }
        awaited = { text, come }
      }),
    cut,
    moveTo(databaseUrl) {
      there = new URL(databaseUrl)
      cut()
    },
    loseNext() {
      losesNext = true
    },
    leadTo(databaseUrl) {
      there = new URL(databaseUrl)
    },
    startUps: () => startUps,
  }
}

/** A pooler in transaction mode: all connections share one session of the server, each for as long as it is answered. */
export async function poolerTo(databaseUrl: string): Promise<string> {
  const far = net.connect(placeOf(new URL(databaseUrl)))
  far.on('error', () => {})
  let greeting: Buffer | undefined
  let served: net.Socket | undefined
  far.on('data', (bytes) => {
    greeting ??= bytes
    served?.write(bytes)
  })
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (startUp) => {
      served = socket
      if (greeting) socket.write(greeting)
      else far.write(startUp)
      socket.on('data', (bytes) => {
        served = socket
        const isGoodbye = bytes[0] === 'X'.charCodeAt(0)
        if (!isGoodbye) far.write(bytes)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    far.destroy()
    server.close()
  })
  return urlAt(databaseUrl, server)
}

/** The database of that URL, reached through this server. */
function urlAt(databaseUrl: string, server: net.Server): string {
  const here = new URL(databaseUrl)
  here.searchParams.delete('host')
  here.hostname = '127.0.0.1'
  here.port = String((server.address() as net.AddressInfo).port)
  return here.toString()
}

/** A directory as `host` holds a Unix socket. */
function placeOf(url: URL): net.NetConnectOpts {
  const directory = url.searchParams.get('host')
  const port = Number(url.port || 5432)
  return directory ? { path: `${directory}/.s.PGSQL.${port}` } : { host: url.hostname, port }
}
