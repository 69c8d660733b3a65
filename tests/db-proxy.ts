// A wire to the database that a test can mute and cut, to lose an answer whose question has arrived.

import net from 'node:net'
import { onTestFinished } from 'vitest'

export type DbProxy = {
  /** The database, reached through the wire. */
  url: string
  /** From now on questions arrive and answers do not. */
  mute(): void
  /** Breaks every connection. Those made afterwards work. */
  cut(): void
}

export async function proxyTo(databaseUrl: string): Promise<DbProxy> {
  const there = new URL(databaseUrl)
  const near = new Set<net.Socket>()
  let muted = false
  const server = net.createServer((socket) => {
    near.add(socket)
    const far = net.connect(placeOf(there))
    socket.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => muted || socket.write(bytes))
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

  const { port } = server.address() as net.AddressInfo
  const here = new URL(databaseUrl)
  here.searchParams.delete('host')
  here.hostname = '127.0.0.1'
  here.port = String(port)
  return {
    url: here.toString(),
    mute: () => {
      muted = true
    },
    cut,
  }
}

/** A directory as `host` holds a Unix socket. */
function placeOf(url: URL): net.NetConnectOpts {
  const directory = url.searchParams.get('host')
  const port = Number(url.port || 5432)
  return directory ? { path: `${directory}/.s.PGSQL.${port}` } : { host: url.hostname, port }
}
