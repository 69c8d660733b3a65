// The other side of a webhook: a real server on this machine that keeps what it was sent and answers as it is told.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A test looks into messages freely, and a wrong look fails it. */
type Any = any

export type Received = { path: string; headers: IncomingHttpHeaders; text: string; body: Any }
/** A status, or whatever the test does with the answer itself. */
type Answer = number | ((response: ServerResponse, received: Received) => void)

export type Receiver = {
  url: string
  received: Received[]
  /** From now on. */
  answer(how: Answer): void
  /** The first so many messages, once they are there. */
  messages(count: number): Promise<Received[]>
}

export async function receiver(how: Answer = 204): Promise<Receiver> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let answer = how
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('error', () => {})
    response.on('error', () => {})
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const message = { path: request.url ?? '', headers: request.headers, text, body: text ? JSON.parse(text) : null }
      received.push(message)
      if (typeof answer === 'number') response.writeHead(answer).end()
      else answer(response, message)
      for (const look of waiting) look()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    answer(next) {
      answer = next
    },
    messages: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (received.length < count) return
          waiting.delete(look)
          resolve(received.slice(0, count))
        }
        waiting.add(look)
        look()
      }),
  }
}
