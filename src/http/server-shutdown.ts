// How a node stops without resetting a connection. The kernel accepts connections for us and resets those that it still
// holds when the listening socket closes, whatever was sent on them. So a node that is told to stop goes on listening until
// no connections come any more: /readyz already answers 503, and every answer closes its connection.

import type { Server } from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND } from '../core/clock.ts'
import type { Admission } from './admission.ts'
import type { Connections } from './connections.ts'

/**
 * Nobody is coming when so many turns of the event loop in a row, one each 10 ms at most, have found no connection. Turns
 * are counted, not time: a process that was not scheduled for a while has connections waiting that it has not seen.
 */
const QUIET_TURNS = 10
const TURN_MS = 10
/** Clients that go on connecting are waited for this long. */
const MAX_LISTENING_MS = 2_000
const MAX_HOLD_MS = 500
const SWEEP_MS = 100
/** A request that has begun to arrive has this long to be whole. */
const ARRIVAL_MS = 2 * SECOND

/** Without patience it does not wait for connections that are coming. */
export async function stopListening(server: Server, admission: Admission, patienceMs: number): Promise<void> {
  let quietTurns = 0
  const onConnection = () => {
    quietTurns = 0
  }
  server.on('connection', onConnection)
  const quiet = async (maxMs: number) => {
    for (const end = performance.now() + maxMs; performance.now() < end; ) {
      quietTurns += 1
      await sleep(TURN_MS)
      // Right after a poll, which has accepted what was there.
      await new Promise((resolve) => setImmediate(resolve))
      if (quietTurns >= QUIET_TURNS) return true
    }
    return false
  }
  // Clients that connect for each request never let it become quiet. So their requests wait for their answers a moment,
  // until each client has one that waits.
  if (patienceMs > 0 && !(await quiet(MAX_LISTENING_MS))) {
    admission.hold()
    await quiet(MAX_HOLD_MS)
  }
  server.off('connection', onConnection)
  net.Server.prototype.close.call(server)
  admission.resume()
}

/**
 * Connections that are open bring what they have sent: a request that was on its way when we stopped listening is still
 * answered. Connections that stay quiet are closed after `patienceMs`, also those that browsers open in advance: for Node.js a
 * connection that has never sent a request is not idle.
 */
export async function closeConnections(
  server: Server,
  connections: Pick<Connections, 'allIdle' | 'arriving'>,
  patienceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.once('close', resolve)
    // Without a connection it has closed already.
    server.getConnections((_error, open) => {
      if (open === 0) resolve()
    })
  })
  await Promise.race([closed, sleep(patienceMs)])
  const seen = new WeakMap<net.Socket, number>()
  const isLate = (socket: net.Socket) => {
    const since = seen.get(socket) ?? performance.now()
    seen.set(socket, since)
    return performance.now() - since > ARRIVAL_MS
  }
  const closeIdle = () => {
    server.closeIdleConnections()
    for (const socket of connections.allIdle()) if (socket.bytesRead === 0 || isLate(socket)) socket.destroy()
    for (const socket of connections.arriving()) if (isLate(socket)) socket.destroy()
  }
  closeIdle()
  // A request that is answered meanwhile leaves an idle connection behind, which would keep the server open.
  const sweep = setInterval(closeIdle, SWEEP_MS)
  void closed.then(() => clearInterval(sweep))
}
