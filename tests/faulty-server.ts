// An HTTP server on this machine that answers as it is told, and as badly: for tests of clients.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export type Seen = { method: string; path: string; headers: IncomingMessage['headers']; body: string }
/** Called when the whole request is there. */
export type Reply = (response: ServerResponse, request: Seen) => void

/** Replies in this order to the requests that come; the last reply is given again and again. */
export async function faultyServer(...replies: Reply[]): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      seen.push({ method, path, headers, body })
      const reply = replies[Math.min(seen.length, replies.length) - 1] as Reply
      reply(response, { method, path, headers, body })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

export const problem = (status: number, code: string, headers: Record<string, string> = {}, members = {}): Reply =>
  json(
    status,
    { type: `/errors/${code}`, title: 'T', status, detail: 'D.', code, requestId: 'r1', ...members },
    headers,
  )

/** The request was read, and the connection ends without an answer. */
export const lost: Reply = (response) => void response.socket?.destroy()

export const halfAnswer: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
  response.write('{"id":', () => response.socket?.destroy())
}

export const hanging: Reply = () => {}
