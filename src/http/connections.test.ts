import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { placeOfClient } from './client-address.ts'
import { trackConnections } from './connections.ts'

test('an address that holds every connection loses those that have been idle the longest, and others still connect', async () => {
  const { connect } = await world(40)
  const crowd: net.Socket[] = []
  for (let i = 0; i < 60; i++) crowd.push(await connect('127.0.0.2'))
  const probe = await connect('127.0.0.3')
  expect(await ask(probe)).toContain('200 OK')
  await until(() => crowd.filter((socket) => !socket.destroyed).length <= 36)
  expect(crowd.findIndex((socket) => !socket.destroyed)).toBe(crowd.filter((socket) => socket.destroyed).length)
  // One that has just been used is not the longest idle any more.
  const first = crowd.find((socket) => !socket.destroyed) as net.Socket
  await ask(first)
  for (let i = 0; i < 10; i++) await connect('127.0.0.2')
  expect([first.destroyed, probe.destroyed]).toEqual([false, false])
})

test('a connection with a request under way is kept, whoever has how many', async () => {
  const { connect, release } = await world(20)
  const busy = []
  for (let i = 0; i < 15; i++) {
    const socket = await connect('127.0.0.2')
    busy.push(socket)
    socket.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n')
  }
  const idle = await connect('127.0.0.3')
  for (let i = 0; i < 8; i++) await connect('127.0.0.4')
  await sleep(50)
  expect(busy.filter((socket) => socket.destroyed)).toEqual([])
  // One idle connection is less than those of 127.0.0.4.
  expect(idle.destroyed).toBe(false)
  release()
})

test('behind a proxy the address of the last request counts, of IPv6 the network', async () => {
  const { connect } = await world(20)
  const caller = (n: number) => `2001:db8:1:1::${n.toString(16)}`
  const crowd: net.Socket[] = []
  for (let i = 0; i < 18; i++) {
    const socket = await connect('127.0.0.2')
    await ask(socket, i < 2 ? `192.0.2.${i}` : caller(i))
    crowd.push(socket)
  }
  for (let i = 0; i < 5; i++) await ask(await connect('127.0.0.2'), '198.51.100.7')
  await until(() => crowd.some((socket) => socket.destroyed))
  expect(crowd.map((socket) => socket.destroyed).slice(0, 3)).toEqual([false, false, true])
})

// ---- the world of one test ------------------------------------------------------------------------------------------

async function world(max: number) {
  const slow: (() => void)[] = []
  const server = http.createServer((request, response) => {
    response.once('close', connections.begin(request))
    if (request.url === '/slow') slow.push(() => response.end())
    else response.end()
  })
  const connections = trackConnections(server, (request) => placeOfClient(request, () => true), max)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: net.Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    release: () => {
      for (const answer of slow) answer()
    },
    connect: async (localAddress: string) => {
      const socket = net.connect({ port, host: '127.0.0.1', localAddress })
      sockets.push(socket)
      socket.on('error', () => {})
      socket.resume()
      await once(socket, 'connect')
      return socket
    },
  }
}

async function ask(socket: net.Socket, forwarded?: string): Promise<string> {
  const answer = once(socket, 'data')
  socket.write(`GET / HTTP/1.1\r\nhost: x\r\n${forwarded ? `x-forwarded-for: ${forwarded}\r\n` : ''}\r\n`)
  const [bytes] = await answer
  return String(bytes)
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition).toBe(true)
}
