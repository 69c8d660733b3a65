// Those who hear of events: a receiver of webhooks, and one stream for each store, which is taken up again where it ended.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { readEvents } from '../../packages/client/src/sse.ts'
import type { ModelStore } from './model.ts'

/** Some messages are refused, so that they are sent again. */
const REFUSED = 0.005

export type Receiver = { url: string; ids: Set<string>; received(): number; close(): void }

export async function startReceiver(next: () => number): Promise<Receiver> {
  const ids = new Set<string>()
  const refused = new Set<string>()
  let received = 0
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      received += 1
      const id = String(request.headers['webhook-id'])
      // Once only: the third try comes minutes later.
      const isRefused = !refused.has(id) && !ids.has(id) && next() < REFUSED
      ;(isRefused ? refused : ids).add(id)
      response.writeHead(isRefused ? 503 : 204).end()
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ids,
    received: () => received,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

export type Follower = { position(): number; reconnected(): number; close(): void }

/** Every position comes once, in order, also across reconnections. */
export function follow(store: ModelStore, urls: string[], complain: (what: string) => void): Follower {
  const closing = new AbortController()
  let position = 0
  let lastId = ''
  let reconnected = -1
  const listen = async (url: string) => {
    const response = await fetch(`${url}/v1/user/store/${store.id}/events/stream`, {
      headers: { authorization: `Bearer ${store.token}`, ...(lastId ? { 'last-event-id': lastId } : {}) },
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(600_000)]),
    })
    if (!response.ok || !response.body) {
      await response.body?.cancel()
      if (response.status !== 503) complain(`a stream was answered ${response.status}`)
      return
    }
    reconnected += 1
    for await (const each of readEvents(response.body)) {
      if (each.kind !== 'event') continue
      const event = JSON.parse(each.data) as { position: number; storeId: string }
      if (position > 0 && event.position !== position + 1)
        complain(`the stream of ${store.id} went from ${position} to ${event.position}`)
      position = event.position
      lastId = each.id
    }
  }
  const loop = async () => {
    for (let n = 0; !closing.signal.aborted; n++) {
      await listen(urls[n % urls.length] as string).catch(() => {})
      await sleep(500)
    }
  }
  void loop()
  return { position: () => position, reconnected: () => reconnected, close: () => closing.abort() }
}
