// The open connections, by the address they come from. A node has room for so many; when it is nearly full, the address
// with the most idle connections loses the one that has been idle the longest. So nobody can hold all of them, and an
// address with many busy ones, a proxy say, keeps them. Streams, which are busy for as long as they last, have four fifths of
// them at most (event-stream.ts).

import type { IncomingMessage } from 'node:http'
import type { Server, Socket } from 'node:net'
import { networkOf } from '../auth/ip.ts'

export const MAX_CONNECTIONS = 10_000
/** Above this share of them, a new connection takes the place of an idle one. */
const CROWDED = 0.9

export type Connections = {
  /** The request is the next of its connection. Returns the function that says its answer has ended. */
  begin(request: IncomingMessage): () => void
  /** A request has come that is answered at once. */
  touch(socket: Socket): void
  /** The connections without a request under way that had one, or were not open, when this was last asked for. */
  takeIdle(): Iterable<Socket>
  /** All connections without a request under way: the first of one may be on its way, or never come. */
  allIdle(): Iterable<Socket>
  /** The connections of which a request is being read: the rest of it may be on its way, or never come. */
  arriving(): Iterable<Socket>
  /** Where the connection comes from, or its last request, behind a proxy: an address, or a network of IPv6. */
  placeOf(socket: Socket): string
}

/** Idle connections of one address, the longest idle first. */
type Idle = Set<Socket>

/** `placeOfClient` tells behind a proxy where a request comes from. */
export function trackConnections(
  server: Server,
  placeOfClient: ((request: IncomingMessage) => string) | null = null,
  max = MAX_CONNECTIONS,
): Connections {
  const idle = new Map<string, Idle>()
  const groups = new WeakMap<Socket, string>()
  const underWay = new Map<Socket, IncomingMessage>()
  let idleSince = new Set<Socket>()
  let open = 0

  function markIdle(socket: Socket): void {
    idleSince.add(socket)
    const group = groups.get(socket) as string
    const others = idle.get(group)
    if (others) others.add(socket)
    else idle.set(group, new Set([socket]))
  }

  function markBusy(socket: Socket): void {
    idleSince.delete(socket)
    const group = groups.get(socket) as string
    const others = idle.get(group)
    if (others?.delete(socket) && others.size === 0) idle.delete(group)
  }

  function makeRoom(): void {
    let most: Idle | undefined
    for (const sockets of idle.values()) if (sockets.size > (most?.size ?? 0)) most = sockets
    for (const longest of most ?? []) return void longest.destroy()
  }

  server.maxConnections = max
  server.on('connection', (socket) => {
    open += 1
    groups.set(socket, networkOf(socket.remoteAddress ?? '').place)
    socket.once('close', () => {
      open -= 1
      underWay.delete(socket)
      markBusy(socket)
    })
    if (open > CROWDED * max) makeRoom()
    markIdle(socket)
  })

  return {
    begin(request) {
      const { socket } = request
      markBusy(socket)
      underWay.set(socket, request)
      if (placeOfClient) groups.set(socket, placeOfClient(request))
      return () => {
        underWay.delete(socket)
        if (!socket.destroyed) markIdle(socket)
      }
    },
    touch(socket) {
      const others = idle.get(groups.get(socket) as string)
      if (others?.delete(socket)) others.add(socket)
    },
    takeIdle() {
      const taken = idleSince
      idleSince = new Set()
      return taken
    },
    allIdle: () => [...idle.values()].flatMap((sockets) => [...sockets]),
    // One whose body waits for its turn is not read yet.
    arriving: () =>
      [...underWay.values()].filter((one) => one.readableFlowing && !one.complete).map(({ socket }) => socket),
    placeOf: (socket) => groups.get(socket) ?? '',
  }
}
