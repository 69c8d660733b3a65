import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { heapMb } from '../../tests/heap.ts'
import { boundedFetch } from './bounded-fetch.ts'

const BOUNDS = { timeoutMs: 500, maxBytes: 1_000 }

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test('an answer is whole, with its status and headers, and redirects are not followed', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/elsewhere' }).end()
    else response.writeHead(201, { 'x-asked': request.method }).end('made')
  })
  const made = await boundedFetch(`${url}made`, { method: 'POST', body: 'x' }, BOUNDS)
  expect([made.status, made.headers.get('x-asked'), await made.text()]).toEqual([201, 'POST', 'made'])
  const redirect = await boundedFetch(url, {}, BOUNDS)
  expect([redirect.status, redirect.headers.get('location'), await redirect.text()]).toEqual([302, '/elsewhere', ''])
})

test('an answer that is too large is not read to its end', async () => {
  const url = await serve((_request, response) => {
    const write = setInterval(() => response.write('x'.repeat(400)), 1)
    response.on('close', () => clearInterval(write))
  })
  await expect(boundedFetch(url, {}, { ...BOUNDS, timeoutMs: 60_000 })).rejects.toThrow('The answer is too large')
})

test.each(['a head that never comes', 'a body that never ends'])(
  '%s is waited for no longer than it may take, whatever the garbage collector takes meanwhile',
  async (what) => {
    const url = await serve((_request, response) => {
      if (what === 'a body that never ends') response.writeHead(200).write('{')
    })
    const all = Array.from({ length: 20 }, () => boundedFetch(url, {}, BOUNDS).catch((error: Error) => error.name))
    let isOver = false
    const ended = Promise.all(all).finally(() => {
      isOver = true
    })
    while (!isOver) {
      heapMb()
      await sleep(20)
    }
    expect(new Set(await ended)).toEqual(new Set(['TimeoutError']))
  },
)
