import { once } from 'node:events'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newChain } from '../../tests/certificates.ts'
import type { Resolve } from '../core/dns.ts'
import { newSender } from './sender.ts'
import { newThreadShares, type ThreadShares } from './thread-shares.ts'

/** TLS_DHE_…: keys are agreed on by Diffie-Hellman with plain numbers, whose size the server chooses. */
const DHE = [
  0x16, 0x32, 0x33, 0x38, 0x39, 0x40, 0x45, 0x67, 0x6a, 0x6b, 0x88, 0x9e, 0x9f, 0xa2, 0xa3, 0xc052, 0xc053, 0xc09e,
  0xc09f, 0xc0a2, 0xc0a3, 0xccaa,
]
const [X25519, P256, P384, P521] = [0x1d, 0x17, 0x18, 0x19]
const SUPPORTED_GROUPS = 10

test('a receiver is offered elliptic curves only, so that it cannot choose how long the handshake takes', async () => {
  const receiver = createServer().listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const sender = newSender(async () => ['127.0.0.1'], true)
  onTestFinished(() => sender.close())
  const sending = sender.post(`https://shop.example:${(receiver.address() as AddressInfo).port}/`, {}, '{}')
  const [socket] = (await once(receiver, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  expect(await sending).toEqual({ error: 'connection_failed' })

  const { suites, groups } = readClientHello(hello)
  expect(suites.length).toBeGreaterThan(5)
  expect(suites.filter((suite) => DHE.includes(suite))).toEqual([])
  expect(groups).toEqual([X25519, P256, P384, P521])
})

/** An HTTPS server with so many certificates. Returns its port, and how many connections were made and bytes sent. */
async function secureReceiver(certificates: number) {
  const seen = { connections: 0, sent: 0 }
  const server = createSecureServer({ ...newChain(certificates), keepAlive: true }, (request, response) => {
    request.resume().on('end', () => response.end(`${request.headers['x-part'] ?? ''}${'x'.repeat(100_000)}`))
  })
  server.on('connection', (socket: Socket) => {
    seen.connections += 1
    socket.on('close', () => {
      seen.sent += socket.bytesWritten
    })
  })
  server.on('tlsClientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  return { seen, url: `https://shop.example:${(server.address() as AddressInfo).port}/` }
}

test('messages go over TLS to whoever is trusted, several on a connection, and to nobody else', async () => {
  const { seen, url } = await secureReceiver(3)
  const lookedUpFor = new Set<string | undefined>()
  const resolve: Resolve = async (_, account) => {
    lookedUpFor.add(account)
    return ['127.0.0.1']
  }
  const sender = newSender(resolve, true)
  onTestFinished(() => sender.close())
  expect(await sender.post(url, {}, '{}')).toEqual({ error: 'tls_failed' })
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const part of ['one', 'two', 'three']) {
    const body = JSON.stringify({ text: part.repeat(50_000) })
    const reply = await sender.post(url, { 'x-part': part }, body)
    expect(reply).toMatchObject({ status: 200, body: expect.stringMatching(new RegExp(`^${part}xxx`)) })
  }
  expect(seen.connections).toBeLessThan(5)
  const many = await Promise.all(Array.from({ length: 20 }, () => sender.post(url, {}, '{}', 'user_1')))
  expect(many.map((reply) => reply && 'status' in reply && reply.status)).toEqual(Array(20).fill(200))
  // Names are asked for in the turns of the account whose message it is.
  expect([...lookedUpFor]).toEqual(['', 'user_1'])
})

test('whatever a receiver does once the handshake is over, the next message is sent, and the process goes on', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { url } = await secureReceiver(1)
  let [connections, isOver] = [0, false]
  const between = createServer((socket) => {
    const far = connect(Number(new URL(url).port), '127.0.0.1')
    for (const [one, other] of [
      [socket, far],
      [far, socket],
    ] as const)
      one.on('error', () => {}).pipe(other)
    const [way, ms] = [connections % 3, (connections >> 2) % 16]
    connections += 1
    const cut = () => {
      if (isOver) return
      if (way === 1) socket.write('not a record of TLS')
      if (way === 2) socket.end()
      if (way === 0) socket.resetAndDestroy()
      else setTimeout(() => socket.resetAndDestroy(), ms)
    }
    setTimeout(cut, ms)
  }).listen(0, '127.0.0.1')
  await once(between, 'listening')
  onTestFinished(() => void between.close())
  const sender = newSender(async () => ['127.0.0.1'], true, 2_000, 300)
  onTestFinished(() => sender.close())
  const cutUrl = `https://shop.example:${(between.address() as AddressInfo).port}/`
  const large = JSON.stringify('y'.repeat(500_000))
  const several = Array.from({ length: 6 }, async (_, n) => {
    for (let sent = 0; sent < 60; sent++) await sender.post(cutUrl, {}, n % 3 ? '{}' : large)
  })
  await Promise.all(several)
  expect(connections).toBeGreaterThan(100)
  isOver = true
  expect(await sender.post(cutUrl, {}, '{}')).toMatchObject({ status: 200 })
})

/** Shares of the thread that a test gives. Whoever is in `resting` has had its own. */
function givenShares() {
  const resting = new Set<string>()
  const spent: Record<string, number> = {}
  const shares: ThreadShares = {
    enter: async () => () => {},
    spend(account, ms) {
      spent[account] = (spent[account] ?? 0) + ms
    },
    restMs: (account) => (resting.has(account) ? 20 : 0),
  }
  return { resting, spent, shares }
}

test('while an account has had its share of the time, its handshakes and responses wait, and arrive in full; nobody else waits', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { resting, spent, shares } = givenShares()
  const [secured, requested, closed] = [vi.fn(), vi.fn(), vi.fn()]
  const server = createSecureServer(newChain(1), (request, response) => {
    const account = request.headers['x-account'] as string
    if (account === 'user_1') resting.add(account)
    requested(account)
    request.resume().on('end', () => {
      response.writeHead(200, { connection: 'close' }).write('first')
      response.end('x'.repeat(60_000))
    })
  })
  server.on('connection', (socket: Socket) => socket.on('close', closed))
  server.on('secureConnection', secured)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  const url = `https://shop.example:${(server.address() as AddressInfo).port}/`
  const sender = newSender(async () => ['127.0.0.1'], true, undefined, undefined, shares)
  onTestFinished(() => sender.close())
  const post = (account: string) => sender.post(url, { 'x-account': account }, '{}', account)
  const all = { status: 200, body: expect.stringMatching(/^firstx+$/) }
  let isOver = false
  resting.add('user_1')
  const waiting = post('user_1').finally(() => {
    isOver = true
  })
  expect(await post('user_2')).toMatchObject(all)
  await sleep(100)
  expect(requested.mock.calls).toEqual([['user_2']])
  expect(secured).toHaveBeenCalledTimes(1)
  resting.clear()
  await vi.waitFor(() => expect(requested).toHaveBeenLastCalledWith('user_1'))
  expect(resting).toContain('user_1')
  expect(await post('user_2')).toMatchObject(all)
  await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(3))
  await sleep(100)
  expect(isOver).toBe(false)
  resting.clear()
  expect(await waiting).toMatchObject(all)
  expect(Object.keys(spent).sort()).toEqual(['user_1', 'user_2'])
  expect(Math.min(...Object.values(spent))).toBeGreaterThan(0)
})

test('each account has connections of its own: nobody waits on one of an account that has had its share of the time', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { seen, url } = await secureReceiver(1)
  const { resting, shares } = givenShares()
  const sender = newSender(async () => ['127.0.0.1'], true, 5_000, undefined, shares)
  onTestFinished(() => sender.close())
  expect(await sender.post(url, {}, '{}', 'user_1')).toMatchObject({ status: 200 })
  resting.add('user_1')
  expect(await sender.post(url, {}, '{}', 'user_2')).toMatchObject({ status: 200 })
  expect(seen.connections).toBe(2)
})

test('a response that ends just when the rest of its account is over does not end the process', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  let responses = 0
  const receiver = createTlsServer(newChain(1), (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      const bytes = 60_000 + ((responses * 977) % 140_000)
      const [coding, text] =
        responses % 2 ? ['transfer-encoding: chunked\r\n', '1\r\nx\r\n'.repeat(bytes / 6)] : ['', 'x'.repeat(bytes)]
      responses += 1
      socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n${coding}\r\n${text}`)
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const { shares } = givenShares()
  const sender = newSender(async () => ['127.0.0.1'], true, 3_000, 300, {
    ...shares,
    restMs: () => (performance.now() % 90 < 60 ? 15 : 0),
  })
  onTestFinished(() => sender.close())
  const url = `https://shop.example:${(receiver.address() as AddressInfo).port}/`
  for (let n = 0; n < 10; n++) {
    const four = await Promise.all(Array.from({ length: 4 }, (_, m) => sender.post(url, {}, '{}', `user_${n}_${m}`)))
    for (const reply of four) expect(reply).not.toBeNull()
  }
  expect(responses).toBe(40)
})

test('to read a response of tiny chunks counts for the account, as long as it takes', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  // All ten responses are less than what counts as a flood.
  const bytes = 8_000
  const responses: Record<string, string> = {
    plain: `content-length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`,
    chunked: `transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(bytes)}0\r\n\r\n`,
  }
  const receiver = createTlsServer(newChain(1), (socket) => {
    socket.on('error', () => {})
    socket.on('data', (part) => {
      const [, kind = ''] = /kind: (\w+)/.exec(part.toString()) ?? []
      if (kind) socket.write(`HTTP/1.1 200 OK\r\n${responses[kind]}`)
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const { spent, shares } = givenShares()
  const sender = newSender(async () => ['127.0.0.1'], true, undefined, undefined, shares)
  onTestFinished(() => sender.close())
  const url = `https://shop.example:${(receiver.address() as AddressInfo).port}/`
  const spentFor = async (kind: string) => {
    const before = spent[''] ?? 0
    expect(await sender.post(url, { kind }, '{}')).toMatchObject({ status: 200, body: 'x'.repeat(1024) })
    return (spent[''] ?? 0) - before
  }
  const [plain, chunked]: [number[], number[]] = [[], []]
  for (let n = 0; n < 5; n++) {
    plain.push(await spentFor('plain'))
    chunked.push(await spentFor('chunked'))
  }
  expect(Math.min(...chunked)).toBeGreaterThan(3 * Math.min(...plain))
})

/** Sends a response in bursts of 64 KiB: half of it in large records of TLS, and half in records of one byte each. */
const SMALL_RECORDS = `
  const net = require('node:net')
  const { TLSSocket } = require('node:tls')
  const { Duplex } = require('node:stream')
  const { parentPort, workerData } = require('node:worker_threads')
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    let burst = null
    const wire = new Duplex({
      read() {},
      write(part, _, done) {
        if (burst) burst.push(part)
        else socket.write(part)
        done()
      },
    })
    socket.on('data', (part) => wire.push(part))
    const secured = new TLSSocket(wire, { isServer: true, ...workerData })
    secured.on('error', () => {})
    const write = (text) => new Promise((done) => secured.write(text, done))
    secured.on('data', async () => {
      await write('HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n1;a=')
      for (let n = 0; n < 10; n++) {
        burst = []
        // After so much TLS is not asked for more at once.
        await write('x'.repeat(32_000))
        for (let bytes = 32_000; bytes < 65_500; ) {
          const before = burst.length
          await write('x')
          for (const part of burst.slice(before)) bytes += part.length
        }
        socket.write(Buffer.concat(burst))
        burst = null
        await new Promise((resolve) => setTimeout(resolve, 30))
      }
      await write('\\r\\nx\\r\\n0\\r\\n\\r\\n')
    })
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

test('all that TLS does counts for the account, also when it reads what came before', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const receiver = new Worker(SMALL_RECORDS, { eval: true, workerData: newChain(1) })
  onTestFinished(() => void receiver.terminate())
  const [port] = await once(receiver, 'message')
  const real = newThreadShares()
  let spentMs = 0
  const spend = (account: string, ms: number) => {
    spentMs += ms
    real.spend(account, ms)
  }
  const sender = newSender(async () => ['127.0.0.1'], true, undefined, undefined, { ...real, spend })
  onTestFinished(() => sender.close())
  const shareOfPost = async () => {
    spentMs = 0
    const before = performance.eventLoopUtilization()
    const reply = await sender.post(`https://shop.example:${port}/`, {}, '{}', 'user_1')
    expect(reply).toMatchObject({ status: 200, body: 'x' })
    return spentMs / performance.eventLoopUtilization(before).active
  }
  // The first also compiles the code.
  await shareOfPost()
  expect(Math.max(await shareOfPost(), await shareOfPost())).toBeGreaterThan(0.4)
})

test('a connection has one handshake: a second one is refused, whatever it would bring', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const receiver = createTlsServer({ ...newChain(1), maxVersion: 'TLSv1.2' }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const sender = newSender(async () => ['127.0.0.1'], true, 1_000)
  onTestFinished(() => sender.close())
  const sending = sender.post(`https://shop.example:${(receiver.address() as AddressInfo).port}/`, {}, '{}')
  const [socket] = (await once(receiver, 'secureConnection')) as [TLSSocket]
  const told = vi.fn()
  socket.on('error', ({ message }) => told(message))
  socket.once('data', () => socket.renegotiate({}, () => {}))
  expect(await sending).toHaveProperty('error')
  expect(told).toHaveBeenCalledWith(expect.stringContaining('no renegotiation'))
})

test('a handshake that is broken off, in whichever way, leaves room for the next', async () => {
  const ways = ['end', 'destroy', 'resetAndDestroy', 'nonsense'] as const
  let connections = 0
  const receiver = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      const way = ways[connections++ % ways.length] as (typeof ways)[number]
      if (way === 'nonsense') socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
      else socket[way]()
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const sender = newSender(async () => ['127.0.0.1'], true)
  onTestFinished(() => sender.close())
  const url = `https://shop.example:${(receiver.address() as AddressInfo).port}/`
  const errors: unknown[] = []
  for (let n = 0; n < 2 * ways.length; n++) errors.push(await sender.post(url, {}, '{}'))
  const [failed, wrong] = [{ error: 'connection_failed' }, { error: 'tls_failed' }]
  expect(errors).toEqual([failed, failed, failed, wrong, failed, failed, failed, wrong])
})

test('a receiver with very many certificates is not listened to: whoever it is, all of them would be checked', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const sender = newSender(async () => ['127.0.0.1'], true)
  onTestFinished(() => sender.close())
  const [long, longest] = [await secureReceiver(30), await secureReceiver(80)]
  expect(await sender.post(long.url, {}, '{}')).toMatchObject({ status: 200 })
  expect(await sender.post(longest.url, {}, '{}')).toEqual({ error: 'tls_failed' })
})

test.each([
  ['early hints', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(100), 100],
  ['line breaks', '\r\n'.repeat(32_768), 0],
  ['extensions of a chunk', `${'x'.repeat(65_536)}`, 0],
])('a receiver that sends %s without end is not listened to', async (what, part, pauseMs) => {
  const before = what.startsWith('extensions') ? 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;' : ''
  const receiver = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      const write = (text: string) => {
        if (!socket.destroyed) socket.write(text, () => setTimeout(write, pauseMs, part))
      }
      write(before + part)
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const sender = newSender(async () => ['127.0.0.1'], true)
  onTestFinished(() => sender.close())
  const port = (receiver.address() as AddressInfo).port
  expect(await sender.post(`http://shop.example:${port}/`, {}, '{}')).toEqual({ error: 'connection_failed' })
})

test('a connection that is not used is closed, whatever the receiver asks for', async () => {
  const receiver = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=600\r\ncontent-length: 2\r\n\r\nok'))
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  onTestFinished(() => void receiver.close())
  const sender = newSender(async () => ['127.0.0.1'], true, 60_000, 500)
  onTestFinished(() => sender.close())
  const connected = once(receiver, 'connection')
  const sending = sender.post(`http://shop.example:${(receiver.address() as AddressInfo).port}/`, {}, '{}')
  const [socket] = (await connected) as [Socket]
  expect(await sending).toMatchObject({ status: 200 })
  await once(socket, 'close')
})

/** What it offers (RFC 8446, 4.1.2): after a header of 9 bytes, a version and 32 random ones. */
function readClientHello(hello: Buffer): { suites: number[]; groups: number[] } {
  const words = (bytes: Buffer) => Array.from({ length: bytes.length / 2 }, (_, n) => bytes.readUInt16BE(2 * n))
  const SESSION = 9 + 2 + 32
  const suitesAt = SESSION + 1 + hello.readUInt8(SESSION)
  const methodsAt = suitesAt + 2 + hello.readUInt16BE(suitesAt)
  const suites = words(hello.subarray(suitesAt + 2, methodsAt))
  let at = methodsAt + 1 + hello.readUInt8(methodsAt) + 2
  while (hello.readUInt16BE(at) !== SUPPORTED_GROUPS) at += 4 + hello.readUInt16BE(at + 2)
  return { suites, groups: words(hello.subarray(at + 6, at + 4 + hello.readUInt16BE(at + 2))) }
}
