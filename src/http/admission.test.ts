import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { UNMEASURED } from '../../tests/unmeasured.ts'
import { newLoadShedder } from '../limits/load-shedding.ts'
import { newAdmission, type RequestListener, releaseEarly } from './admission.ts'
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
  const answer = Buffer.alloc(1_000_000, 'x')
  let served = 0
  const { connect } = await world((_request, response) => {
    served += 1
    response.end(answer)
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
  await expect.poll(() => client.socket.bytesRead).toBeGreaterThan(40 * answer.length)
})

test('an overloaded node refuses with Retry-After, but for health checks, and refused connections are read again in turn', async () => {
  const held: http.ServerResponse[] = []
  const { connect, load } = await world((request, response) => {
    if (request.url === '/livez' || request.url === '/later') response.end('served')
    else held.push(response)
  })
  const admitted = []
  while (load.room() > 0) admitted.push(load.admit('normal'))
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
  for (const ticket of admitted) ticket?.release()
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

const EIGHT_MB = Buffer.alloc(8_000_000, 'x')

test('an answer that nobody reads is in flight no more, and its connection makes room for others', async () => {
  const { connect, load, connections } = await world((_request, response) => response.end(EIGHT_MB))
  const clients = numbers(6).map(() => connect())
  for (const { socket, write } of clients) {
    socket.pause()
    write(get(1))
  }
  const idle = new Set<net.Socket>()
  const idleAndUnsent = () => {
    for (const socket of connections.takeIdle()) idle.add(socket)
    return [...idle].filter((socket) => socket.writableLength > 0).length
  }
  await expect.poll(idleAndUnsent).toBe(6)
  expect(load.inFlight()).toBe(0)
  expect(clients.some(({ socket }) => socket.bytesRead > 4_000_000)).toBe(false)
})

test('of answers that nobody reads, the address with the most loses the oldest', async () => {
  const { connect } = await world((_request, response) => response.end(EIGHT_MB))
  const lone = connect('127.0.0.2')
  lone.socket.pause()
  lone.write(get(1))
  const crowd = numbers(30).map(() => connect())
  for (const { socket, write } of crowd) {
    socket.pause()
    write(get(1))
  }
  const cutOff = () => crowd.filter(({ socket }) => socket.destroyed)
  for (const { socket } of crowd) socket.on('error', () => {})
  await expect.poll(() => (crowd.forEach(({ socket }) => socket.resume()), cutOff().length)).toBeGreaterThan(10)
  lone.socket.resume()
  await expect.poll(() => lone.socket.bytesRead).toBeGreaterThan(8_000_000)
})

test('a stream is in flight until it has begun, once, whatever it was asked with', async () => {
  const { connect, load } = await world((request, response) => {
    if (request.url === '/wait') return
    response.flushHeaders()
    releaseEarly(response)
    releaseEarly(response)
  })
  connect().write(get(1).replace('/1', '/wait'))
  await expect.poll(() => load.inFlight()).toBe(1)
  const clients = ['GET', 'HEAD', 'POST'].map((method) => {
    const client = connect()
    client.write(`${method} /stream HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}`)
    return client
  })
  await expect.poll(() => clients.every((client) => client.texts().join('').startsWith('HTTP/1.1 200'))).toBe(true)
  expect(load.inFlight()).toBe(1)
  for (const { socket } of clients) socket.destroy()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(load.inFlight()).toBe(1)
})

test('a request that comes before the answer of another path waits for it, also if that is handed over late', async () => {
  let handOver: (() => void) | undefined
  const { connect, admission, server } = await world((request, response) => response.end(request.url))
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    if (request.url === '/0') handOver = () => admission.handle(request, response)
    else admission.handle(request, response)
  })
  const client = connect()
  client.write(numbers(3).map(get).join(''))
  await expect.poll(() => handOver).toBeDefined()
  await new Promise((resolve) => setTimeout(resolve, 20))
  handOver?.()
  await expect.poll(() => client.answers()).toEqual(['200 /0', '200 /1', '200 /2'])
})

test('what has waited on connections that broke is forgotten', async () => {
  const { connect, server, admission } = await world((_request, response) => response.end('served'))
  const [listener] = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    if (request.url !== '/never') listener?.(request, response)
  })
  // Each holds nearly all that a connection may, and together more than the node may hold.
  for (let round = 0; round < 3; round++) {
    const clients = numbers(150).map(() => connect())
    for (const { write } of clients)
      write(
        get(1).replace('/1', '/never') +
          numbers(4)
            .map(() => post('/1', 'x'.repeat(60_000)))
            .join(''),
      )
    await expect.poll(() => clients.every(({ socket }) => socket.bytesWritten > 240_000)).toBe(true)
    for (const { socket } of clients) socket.destroy()
  }
  expect(admission).toBeDefined()
  const client = connect()
  client.write(get(1) + get(2) + get(3))
  await expect.poll(() => client.answers().length).toBe(3)
})

test('of requests that wait behind others, the address with the most loses a connection, and nobody else does', async () => {
  const { connect } = await world((request, response) => {
    if (request.url === '/0') response.write('hello')
    else response.end('served')
  })
  const lone = connect('127.0.0.2')
  lone.write(get(0) + get(1))
  const crowd = numbers(300).map(() => connect())
  for (const { write, socket } of crowd) {
    socket.on('error', () => {})
    write(
      get(0) +
        numbers(4)
          .map(() => post('/1', 'x'.repeat(60_000)))
          .join(''),
    )
  }
  await expect.poll(() => crowd.filter(({ socket }) => socket.destroyed).length).toBeGreaterThan(20)
  const late = connect('127.0.0.3')
  late.write(get(1) + get(2) + get(3))
  await expect.poll(() => late.answers().length).toBe(3)
  expect(lone.socket.destroyed).toBe(false)
})

test('an address that goes on asking though it was refused gets its refusals at a steady pace, and others do not wait', async () => {
  const { connect } = await world(
    (request, response) => {
      response.statusCode = request.url === '/v1/user' ? 429 : 200
      response.end('x')
    },
    { isPaced: true },
  )
  const began = performance.now()
  const flood = numbers(100).map(() => connect())
  let refused = 0
  for (const { socket, write } of flood) {
    socket.on('data', () => {
      refused += 1
      write(get(1).replace('/1', '/v1/user'))
    })
    write(get(1).replace('/1', '/v1/user').repeat(3))
  }
  // Neither another address waits, nor a connection of the same one that is not part of it.
  const neighbour = connect()
  neighbour.write(get(1) + get(1).replace('/1', '/v1/user') + get(2))
  await expect.poll(() => neighbour.answers()).toEqual(['200 x', '429 x', '200 x'])
  const other = connect('127.0.0.2')
  for (const n of numbers(40)) {
    other.write(get(n))
    await once(other.socket, 'data')
    expect(other.answers()).toHaveLength(n + 1)
  }
  // A hundred at once, four on each connection, and a hundred in a second.
  expect(refused).toBeLessThanOrEqual(501 + (performance.now() - began) / 10)
  expect(refused).toBeGreaterThan(90)
  // Those that close leave nothing behind for who comes after them.
  for (const { socket } of flood) socket.destroy()
  const late = connect()
  const before = performance.now()
  for (const n of numbers(6)) {
    late.write(get(1).replace('/1', '/v1/user'))
    await expect.poll(() => late.answers().length, { interval: 5 }).toBe(n + 1)
  }
  // Each of the last two waits for a turn at most: the queue has none but this connection.
  const alone = performance.now() - before
  const again = connect('127.0.0.3')
  const beforeAgain = performance.now()
  for (const n of numbers(6)) {
    again.write(get(1).replace('/1', '/v1/user'))
    await expect.poll(() => again.answers().length, { interval: 5 }).toBe(n + 1)
  }
  expect(alone).toBeLessThan(1_000 + 20 * (performance.now() - beforeAgain))
})

test('behind a proxy too, whoever floods keeps nobody else waiting, neither on new connections nor on open ones', async () => {
  let flooded = 0
  const { connect } = await world((request, response) => {
    if (request.headers.from === 'flood') flooded += 1
    const end = performance.now() + 0.3
    while (performance.now() < end);
    response.end('x')
  })
  const flood = numbers(200).map(() => connect())
  const asFlood = get(1).replace('\r\n\r\n', '\r\nfrom: flood\r\n\r\n')
  for (const { socket, write } of flood) {
    socket.on('data', () => write(asFlood))
    write(asFlood)
  }
  await Promise.all(flood.map(({ socket }) => once(socket, 'data')))
  const before = flooded
  for (const n of numbers(5)) {
    const other = connect()
    other.write(get(n))
    await once(other.socket, 'data')
    other.write(get(n))
    await once(other.socket, 'data')
  }
  // Five connections and ten requests: had they waited for all of the flood, 200 each.
  expect(flooded - before).toBeLessThan(1_000)
})

test('an overloaded node refuses the address with the most requests that wait, not the others', async () => {
  for (const path of ['/1', '/v1/keys/verify', '/livez']) {
    const { connect, load, server } = await world((_request, response) => {
      const end = performance.now() + 0.3
      while (performance.now() < end);
      response.end('x')
    })
    const admitted = []
    while (load.room() > 50) admitted.push(load.admit('normal'))
    const flood = numbers(path === '/1' ? 120 : 700).map(() => connect())
    await expect.poll(() => promisify(server.getConnections.bind(server))()).toBe(flood.length)
    const asFlood = get(1).replace('/1', path).replace('\r\n\r\n', '\r\nfrom: flood\r\n\r\n')
    for (const { socket, write } of flood) {
      socket.on('data', () => write(asFlood))
      write(asFlood)
    }
    await Promise.all(flood.map(({ socket }) => once(socket, 'data')))
    for (const asked of ['/1', '/v1/keys/verify', '/livez']) {
      const other = connect()
      other.write(get(1).replace('/1', asked))
      await once(other.socket, 'data')
      expect(other.answers()).toEqual(['200 x'])
    }
    for (const { socket } of flood) socket.destroy()
    for (const ticket of admitted) ticket?.release()
    await expect.poll(() => load.inFlight()).toBe(0)
  }
})

test('of bodies that do not arrive behind a proxy, the client with the most loses one', async () => {
  const { connect } = await world((request, response) => {
    request.resume().once('end', () => response.end('read'))
  })
  const head = (from: string) => `POST /1 HTTP/1.1\r\nhost: x\r\nfrom: ${from}\r\ncontent-length: 2\r\n\r\n`
  const honest = numbers(5).map(() => connect())
  for (const [n, { write }] of honest.entries()) write(head(`honest ${n}`))
  const stalled = numbers(560).map(() => connect())
  for (const { write } of stalled) write(head('stalled'))
  await expect.poll(() => stalled.filter(({ socket }) => socket.destroyed || socket.readableEnded).length).toBe(65)
  for (const { write } of honest) write('{}')
  await expect.poll(() => honest.map(({ answers }) => answers())).toEqual(honest.map(() => ['200 read']))
})

// ---- the world of one test ------------------------------------------------------------------------------------------

async function world(serve: RequestListener, { isPaced = false } = {}) {
  const server = http.createServer()
  const load = newLoadShedder()
  const metrics = newMetrics(UNMEASURED)
  const connections = trackConnections(server, ({ headers, socket }) => String(headers.from ?? socket.remoteAddress))
  const parts = { load, metrics, connections, isPaced, draining: () => false }
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
    server,
    admission,
    connections,
    load,
    connect: (localAddress = '127.0.0.1') => {
      const socket = net.connect({ port, host: '127.0.0.1', localAddress })
      sockets.push(socket)
      const received: Buffer[] = []
      socket.on('data', (chunk) => void received.push(chunk))
      const texts = () =>
        Buffer.concat(received)
          .toString('latin1')
          .split(/(?=HTTP\/1\.1 \d{3} )/)
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
