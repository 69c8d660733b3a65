import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newResolve, type Resolve } from './dns.ts'

const QUESTION = 12
const A = 1

/**
 * A name server that knows these IPv4 addresses, has no other kind, and says nothing at all about names with `silent`. What is
 * too long for a datagram it says over TCP.
 */
async function nameServer(...addresses: number[][]): Promise<string> {
  const records = Buffer.from(addresses.flatMap((each) => [0xc0, QUESTION, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, ...each]))
  const answer = (query: Buffer, max: number): Buffer => {
    const end = query.indexOf(0, QUESTION) + 5
    const isLong = records.length > max
    const has = query.readUInt16BE(end - 4) === A && !isLong
    const header = Buffer.from([...query.subarray(0, 2), isLong ? 0x83 : 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0])
    header.writeUInt16BE(has ? addresses.length : 0, 6)
    return Buffer.concat([header, query.subarray(QUESTION, end), has ? records : Buffer.alloc(0)])
  }
  const overTcp = createServer((socket) => {
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
        const end = 2 + received.readUInt16BE()
        const reply = answer(received.subarray(2, end), 65_000)
        received = received.subarray(end)
        const length = Buffer.alloc(2)
        length.writeUInt16BE(reply.length)
        socket.write(Buffer.concat([length, reply]))
      }
    })
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => overTcp.listen(0, '127.0.0.1', resolve))
  const { port } = overTcp.address() as AddressInfo
  const server = createSocket('udp4')
  server.on('message', (query, from) => {
    if (!query.includes('silent')) server.send(answer(query, 1_100), from.port, from.address)
  })
  await new Promise<void>((resolve) => server.bind(port, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    overTcp.close()
  })
  return `127.0.0.1:${port}`
}

const MAIN_THREAD = `/proc/self/task/${process.pid}/schedstat`
const mainThreadMs = () => Number(readFileSync(MAIN_THREAD, 'utf8').split(' ')[0]) / 1e6

test('names whose servers never answer hold up no other name', async () => {
  const resolve = newResolve([await nameServer([93, 184, 216, 34])])
  let given = 0
  const silent = Array.from({ length: 50 }, (_, n) =>
    resolve(`silent${n}.example`, 'one').catch((error) => {
      given += 1
      return error.code
    }),
  )
  expect(await resolve('shop.example', 'other')).toEqual(['93.184.216.34'])
  expect(given).toBe(0)
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['ETIMEOUT']))
})

const many = (count: number) => Array.from({ length: count }, (_, n) => [93, 184, n >> 8, n & 255])

test('of a host with very many addresses some are enough', async () => {
  const resolve = newResolve([await nameServer(...many(60))])
  const found = await resolve('many.example')
  expect(found).toHaveLength(32)
  expect(found.every((address) => address.startsWith('93.184.0.'))).toBe(true)
})

test('for one account a few names are asked for at once, whichever they are, and others need not wait for them', async () => {
  const asked: string[] = []
  const resolve = newResolve([await nameServer(...many(1))])
  const silent = Array.from({ length: 6 }, (_, n) =>
    resolve(`silent${n}.apphost.example`, 'one').catch(({ code }) => {
      asked.push(`${n} ${code}`)
    }),
  )
  // Also at the same domain.
  for (const host of ['shop.example', 'shop.apphost.example']) expect(await resolve(host, 'other')).toHaveLength(1)
  expect(asked).toEqual([])
  // The last two had to wait for the first four, and nobody waits for them any more.
  await Promise.all(silent)
  expect(asked.sort()).toEqual(['0', '1', '2', '3', '4', '5'].map((n) => `${n} ETIMEOUT`))
  expect(await resolve('shop.example', 'one')).toHaveLength(1)
})

test('a name that nobody answers for takes one place of its account, however often it is asked for', async () => {
  const resolve = newResolve([await nameServer(...many(1))])
  const silent = Array.from({ length: 10 }, () => resolve('silent.example', 'one').catch(({ code }) => code))
  let given = 0
  for (const asked of silent) asked.then(() => (given += 1))
  expect(await resolve('shop.example', 'one')).toHaveLength(1)
  expect(given).toBe(0)
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['ETIMEOUT']))
})

test('a host that does not exist has the code of DNS', async () => {
  await expect(newResolve([await nameServer()])('none.example')).rejects.toMatchObject({ code: 'ENODATA' })
})

test.skipIf(!existsSync(MAIN_THREAD))('an answer of 64 KB is not read in the thread that serves requests', async () => {
  const server = await nameServer(...many(4_000))
  const inThisThread = new Resolver()
  inThisThread.setServers([server])
  const leastMs = async (resolve: Resolve, addresses: number) => {
    const times: number[] = []
    for (let n = 0; n < 8; n++) {
      const before = mainThreadMs()
      expect(await resolve('shop.example')).toHaveLength(addresses)
      times.push(mainThreadMs() - before)
    }
    return Math.min(...times)
  }
  const reading = await leastMs((host) => inThisThread.resolve4(host), 4_000)
  expect(await leastMs(newResolve([server]), 32)).toBeLessThan(reading / 2)
})
