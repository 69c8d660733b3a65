// Imports are answered to people who do not read the answer. What their bodies took is there for others all the same.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Failure } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import { newLargeBodies } from '../limits/large-bodies.ts'
import { newTenantShares } from '../limits/tenant-shares.ts'
import type { Incoming, Pipeline } from './context.ts'
import { admitLargeBody } from './large-body.ts'
import { newLongWork } from './long-work.ts'

const BODY = 'x'.repeat(100_000)
/** More than a connection holds of an answer that is not read. */
const UNREADABLE = 'y'.repeat(50_000_000)

type Work = (response: ServerResponse) => Promise<unknown>

/** A node with room for one body, which does the `work` once a body is there. */
async function node(work: Work) {
  const longWork = { ...newLongWork(8), bodies: newLargeBodies(BODY.length) }
  const identifying = newTenantShares(() => 300)
  const pipeline = { limits: { rate: null, longWork, identifying } } as unknown as Pipeline
  const letGo = vi.fn<() => void>()
  const codes: string[] = []
  const responses: ServerResponse[] = []
  const server = createServer(async (request, response) => {
    const { headers } = request
    const incoming = { headers, query: {}, params: { storeId: 'store_1' }, ip: '203.0.113.7' } as unknown as Incoming
    try {
      const route = { needs: 'public' } as Route
      const admitted = await admitLargeBody(pipeline, route, incoming, response, BODY.length, letGo)
      codes.push('admitted')
      responses.push(response)
      request.resume().once('end', () => admitted?.during(() => work(response)))
    } catch (error) {
      codes.push((error as Failure).code)
      response.end()
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const send = async (body = BODY) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n${body}`)
    const before = codes.length
    await vi.waitFor(() => expect(codes.length).toBe(before + 1), 30_000)
    return { socket, code: codes.at(-1) }
  }
  const state = () => ({ turns: longWork.import.turns.inUse(), letGo: letGo.mock.calls.length })
  const becomes = (wanted: ReturnType<typeof state>) => vi.waitFor(() => expect(state()).toEqual(wanted), 30_000)
  return { send, state, becomes, responses }
}

test('an answer that nobody reads keeps neither the bytes of its body nor its turn', async () => {
  const { send, becomes, responses } = await node(async (response) => response.end(UNREADABLE))
  for (const letGo of [1, 2, 3]) {
    expect((await send()).code).toBe('admitted')
    await becomes({ turns: 0, letGo })
  }
  expect(responses.map(({ writableFinished, destroyed }) => [writableFinished, destroyed])) //
    .toEqual(Array(3).fill([false, false]))
})

test('a body counts until the work with it is done, also when it fails or its sender has left', async () => {
  const work: { end(): void; fail(error: Error): void }[] = []
  const failed = vi.fn()
  const { send, state, becomes, responses } = await node((response) => {
    const done = new Promise<void>((end, fail) => work.push({ end, fail }))
    return done.then(() => response.end(), failed)
  })
  const { socket, code } = await send()
  await vi.waitFor(() => expect(work).toHaveLength(1), 30_000)
  socket.destroy()
  await vi.waitFor(() => expect(responses[0]?.destroyed).toBe(true), 30_000)
  expect([code, (await send()).code, state()]).toEqual(['admitted', 'rate_limited', { turns: 1, letGo: 0 }])
  work[0]?.end()
  await becomes({ turns: 0, letGo: 1 })
  expect((await send()).code).toBe('admitted')
  await vi.waitFor(() => expect(work).toHaveLength(2), 30_000)
  work[1]?.fail(new Error('Nothing works'))
  await becomes({ turns: 0, letGo: 2 })
  expect(failed).toHaveBeenCalledOnce()
})

test('a body that does not arrive counts until it is refused, though nobody reads that, or its sender leaves', async () => {
  const work = vi.fn<Work>()
  const { send, becomes, responses } = await node(work)
  const half = BODY.slice(50_000)
  expect((await send(half)).code).toBe('admitted')
  responses[0]?.end(UNREADABLE)
  await becomes({ turns: 0, letGo: 1 })
  const { socket, code } = await send(half)
  await becomes({ turns: 1, letGo: 1 })
  socket.destroy()
  await becomes({ turns: 0, letGo: 2 })
  expect([code, (await send(half)).code, work.mock.calls]).toEqual(['admitted', 'admitted', []])
})
