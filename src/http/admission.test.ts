import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { UNMEASURED } from '../../tests/unmeasured.ts'
import { newLoadShedder } from '../limits/load-shedding.ts'
import { newAdmission, type RequestListener } from './admission.ts'
import { trackConnections } from './connections.ts'
import { newMetrics } from './metrics.ts'

test('pipelined requests are served one after the other, and answered in order', async () => {
  let underWay = 0
  let most = 0
  const { connect } = await world((request, response) => {
    underWay += 1
    most = Math.max(most, underWay)
    setTimeout(() => {
      underWay -= 1
      response.end(request.url)
    }, 5)
  })
  const client = connect()
  client.write(numbers(20).map(get).join(''))
  await expect.poll(() => client.answers()).toEqual(numbers(20).map((n) => `200 /${n}`))
  expect(most).toBe(1)
})

test('a client that does not read its answers gets no further ones until it does', async () => {
  const size = 1_000_000
  let served = 0
  const { connect } = await world((_request, response) => {
    served += 1
    response.end('x'.repeat(size))
  })
  const client = connect()
  client.socket.pause()
  client.write(numbers(40).map(get).join(''))
  const other = connect()
  other.write(get(1))
  await expect.poll(() => other.answers().length).toBe(1)
  // A few answers fit into the buffers of the operating system.
  expect(served).toBeLessThan(25)
  client.socket.resume()
  await expect.poll(() => client.socket.bytesRead).toBeGreaterThan(40 * size)
})

test('an overloaded node refuses with Retry-After, but for health checks, and refused connections are read again in turn', async () => {
  const held: http.ServerResponse[] = []
  const { connect, load } = await world((request, response) => {
    if (request.url === '/livez' || request.url === '/later') response.end('served')
    else held.push(response)
  })
  while (load.room() > 0) load.admit('normal')
  const clients = numbers(300).map(() => connect())
  for (const client of clients) client.write(post('/v1/user?token=1', 'x'.repeat(1_000)))
  await expect.poll(() => clients.every((client) => client.answers().length === 1)).toBe(true)
  const [answer] = (clients[0] as (typeof clients)[0]).texts()
  expect(answer).toMatch(/^HTTP\/1\.1 503 /)
  expect(answer).toMatch(/\r\nretry-after: 1\r\n/)
  const [, body] = answer?.split('\r\n\r\n') as [string, string]
  expect(JSON.parse(body)).toMatchObject({ code: 'overloaded', status: 503, instance: '/v1/user' })
  expect(answer).toContain(`x-request-id: ${JSON.parse(body).requestId}\r\n`)
  expect(held).toEqual([])
  const probe = connect()
  probe.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')
  await expect.poll(() => probe.answers()).toEqual(['200 served'])
  // Also those that were not read for a while, because there were too many. What waited for too long is asked once more.
  while (load.inFlight() > 0) load.release()
  const unserved = new Map(clients.map((client) => [client, 1]))
  const askAgain = () => {
    for (const [client, asked] of unserved) {
      const answers = client.answers()
      if (answers.length < asked) continue
      if (answers.at(-1) === '200 served') unserved.delete(client)
      else unserved.set(client, asked + 1) && client.write(post('/later', '{}'))
    }
    return unserved.size
  }
  await expect.poll(askAgain).toBe(0)
})

test('requests that come while it holds are served when it goes on', async () => {
  let served = 0
  const { connect, admission } = await world((_request, response) => {
    served += 1
    response.end()
  })
  admission.hold()
  const client = connect()
  client.write(numbers(3).map(get).join(''))
  const other = connect()
  other.write(get(1))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(served).toBe(0)
  admission.resume()
  await expect.poll(() => [client.answers().length, other.answers().length]).toEqual([3, 1])
})

test('bodies that never arrive take nobody’s place, and the longest under way give theirs up', async () => {
  const { connect, load } = await world((request, response) => {
    request.resume()
    request.once('end', () => response.end('served'))
  })
  const slow = numbers(600).map(() => connect())
  for (const { write } of slow) write('POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{')
  await expect.poll(() => slow.filter(({ socket }) => socket.destroyed).length).toBe(100)
  expect(load.inFlight()).toBe(0)
  const other = connect()
  other.write(post('/quick', '{}') + get(1))
  await expect.poll(() => other.answers()).toEqual(['200 served', '200 served'])
  for (const { socket } of slow) socket.destroy()
  await expect.poll(() => load.inFlight()).toBe(0)
})

test('a connection with more requests waiting than anyone needs is closed', async () => {
  let served = 0
  const { connect } = await world((request, response) => {
    served += 1
    // A stream, which goes on.
    if (request.url === '/0') response.write('hello')
    else response.end()
  })
  const client = connect()
  client.socket.on('error', () => {})
  client.write(get(0))
  await expect.poll(() => client.texts().join('')).toContain('hello')
  client.write(numbers(5_000).map(get).join(''))
  await expect.poll(() => client.socket.destroyed).toBe(true)
  expect(served).toBeLessThan(105)
})

test('requests that wait on a connection which breaks are never begun, and take nobody’s place', async () => {
  let served = 0
  const { connect, load } = await world((_request, response) => {
    served += 1
    response.end('x'.repeat(1_000_000))
  })
  const clients = numbers(20).map(() => connect())
  for (const { socket, write } of clients) {
    socket.pause()
    write(numbers(40).map(get).join('') + post('/last', '{}'))
  }
  await expect.poll(() => served).toBeGreaterThanOrEqual(20)
  for (const { socket } of clients) socket.resetAndDestroy()
  const other = connect()
  other.write(get(1))
  await expect.poll(() => other.socket.bytesRead).toBeGreaterThan(1_000_000)
  await expect.poll(() => load.inFlight()).toBe(0)
})

test('a connection that sends more behind an answer under way than anyone needs is closed', async () => {
  const { connect } = await world((request, response) => {
    if (request.url === '/0') response.write('hello')
    else response.end('served')
  })
  const client = connect()
  client.socket.on('error', () => {})
  client.write(get(0))
  await expect.poll(() => client.texts().join('')).toContain('hello')
  for (const _ of numbers(40)) client.write(post('/1', 'x'.repeat(15_000)))
  await expect.poll(() => client.socket.destroyed).toBe(true)
})

test('of many bodies that do not arrive, the address with the most of them loses one', async () => {
  const { connect } = await world((request, response) => {
    request.resume()
    request.once('end', () => response.end('served'))
  })
  const half = 'POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{'
  const lone = connect('127.0.0.2')
  lone.write(half)
  const crowd = numbers(600).map(() => connect())
  for (const { write } of crowd) write(half)
  await expect.poll(() => crowd.filter(({ socket }) => socket.destroyed).length).toBeGreaterThanOrEqual(100)
  lone.write('}')
  await expect.poll(() => lone.answers()).toEqual(['200 served'])
})

// ---- the world of one test ------------------------------------------------------------------------------------------

async function world(serve: RequestListener) {
  const server = http.createServer()
  const load = newLoadShedder()
  const metrics = newMetrics(UNMEASURED)
  const parts = { load, metrics, connections: trackConnections(server), draining: () => false }
  const admission = newAdmission(parts, serve)
  server.on('request', admission.handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: net.Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    load.close()
  })
  return {
    admission,
    load,
    connect: (localAddress = '127.0.0.1') => {
      const socket = net.connect({ port, host: '127.0.0.1', localAddress })
      sockets.push(socket)
      let received = ''
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1')
      })
      const texts = () => received.split(/(?=HTTP\/1\.1 \d{3} )/)
      return {
        socket,
        write: (text: string) => socket.write(text),
        texts,
        /** Status and body of each answer that is complete. */
        answers: () =>
          texts().flatMap((text) => {
            const [head = '', body = ''] = text.split('\r\n\r\n')
            const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
            return body.length === length ? [`${head.slice(9, 12)} ${body.slice(0, 100)}`] : []
          }),
      }
    },
  }
}

function get(n: number): string {
  return `GET /${n} HTTP/1.1\r\nhost: x\r\n\r\n`
}

function post(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

function numbers(many: number): number[] {
  return Array.from({ length: many }, (_, n) => n)
}
