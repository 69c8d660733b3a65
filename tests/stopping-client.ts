// A client of a service that is told to stop: it sends one request after the other, until nobody listens any more. Used by
// the suite and by bench/stress/sigterm.ts.

import { randomUUID } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Sent = { kind: 'key' | 'address'; path: string; body: object; token: string }

type Answered = { sent: Sent; idempotencyKey: string; id: string; secret?: string }

/** A connection that was idle for longer than the service waits for idle ones may be closed just as a request is sent. */
const PATIENCE_MS = 1_000

/**
 * `connections`: kept, or a new one for each request. `pauses`: it is idle for up to 300 ms between its requests, and
 * otherwise never.
 */
export function newStoppingClient(
  url: string,
  next: () => Sent,
  { connections, pauses }: { connections: 'kept' | 'fresh'; pauses: boolean },
) {
  const agent = connections === 'kept' ? new http.Agent({ keepAlive: true, maxSockets: 1 }) : false
  const answered: Answered[] = []
  const failed: string[] = []
  let refused = 0
  let idleResets = 0
  // The kernel resets a connection that it accepts in the very instant in which the socket closes; nobody listens afterwards.
  let closingResets = 0
  // A disk that stalls for seconds makes 503s, and that is an answer too. Once the service stops there is no excuse.
  let busy = 0
  let stopping = false
  let endedAt = performance.now()
  const run = async () => {
    while (refused === 0 && failed.length === 0) {
      const idempotencyKey = randomUUID()
      const sent = next()
      const idleMs = performance.now() - endedAt
      const reply = await send(agent, url, sent, idempotencyKey)
      const isNew = 'error' in reply && reply.error === 'ECONNRESET' && !reply.reused && reply.bytes === 0
      const isClosed = isNew && stopping && (await isRefused(url))
      endedAt = performance.now()
      if ('error' in reply) {
        if (reply.error === 'ECONNREFUSED') refused += 1
        else if (isClosed) closingResets += 1
        else if (reply.reused && idleMs > PATIENCE_MS) idleResets += 1
        else failed.push(`${reply.error} ${JSON.stringify({ ...reply, idleMs, stopping })}`)
      } else if (reply.status === 201)
        answered.push({ sent, idempotencyKey, id: reply.body.id, secret: reply.body.key })
      else if (reply.status === 503 && !stopping) busy += 1
      else failed.push(`${reply.status} ${JSON.stringify(reply.body)}`)
      if (pauses) await sleep(Math.random() * 300)
    }
    if (agent) agent.destroy()
    return { answered, refused, idleResets, closingResets, busy, failed }
  }
  const told = () => {
    stopping = true
  }
  return { answered: () => answered.length, failed: () => failed.length > 0, told, done: run() }
}

function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = net.connect(Number(port), hostname)
    const ended = (refused: boolean) => {
      socket.destroy()
      resolve(refused)
    }
    socket.once('connect', () => ended(false))
    socket.once('error', (error: NodeJS.ErrnoException) => ended(error.code === 'ECONNREFUSED'))
  })
}

type Reply =
  | { status: number; body: { id: string; key: string } }
  | { error: string; reused: boolean; bytes: number; ms: number }

function send(agent: http.Agent | false, url: string, sent: Sent, idempotencyKey: string): Promise<Reply> {
  return new Promise((resolve) => {
    const text = JSON.stringify(sent.body)
    const headers = {
      authorization: `Bearer ${sent.token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'idempotency-key': idempotencyKey,
    }
    const began = performance.now()
    let bytes = 0
    const ended = (error: string, reused: boolean) =>
      resolve({ error, reused, bytes, ms: Math.round(performance.now() - began) })
    const request = http.request(url + sent.path, { agent, method: 'POST', headers }, (response) => {
      let answer = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        answer += chunk
        bytes += chunk.length
      })
      response.on('error', (error) => ended(`half an answer: ${error.message}`, false))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) }))
    })
    request.on('error', (error: NodeJS.ErrnoException) =>
      ended(error.code ?? error.message, request.reusedSocket && error.code === 'ECONNRESET'),
    )
    request.end(text)
  })
}
