import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newResolve } from './dns.ts'

const QUESTION = 12
const A = 1

/** A name server that knows one IPv4 address, has no other kind, and says nothing at all about names with `silent`. */
async function nameServer(address: number[]): Promise<string> {
  const server = createSocket('udp4')
  server.on('message', (query, from) => {
    if (query.includes('silent')) return
    const end = query.indexOf(0, QUESTION) + 5
    const wantsAddress = query.readUInt16BE(end - 4) === A
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, wantsAddress ? 1 : 0, 0, 0, 0, 0])
    const answer = [0xc0, QUESTION, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, ...address]
    const reply = [header, query.subarray(QUESTION, end), Buffer.from(wantsAddress ? answer : [])]
    server.send(Buffer.concat(reply), from.port, from.address)
  })
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('names whose servers never answer hold up no other name', async () => {
  const resolve = newResolve([await nameServer([93, 184, 216, 34])])
  let given = 0
  const silent = Array.from({ length: 50 }, (_, n) =>
    resolve(`silent${n}.example`).catch((error) => {
      given += 1
      return error.code
    }),
  )
  expect(await resolve('shop.example')).toEqual(['93.184.216.34'])
  expect(given).toBe(0)
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['ETIMEOUT']))
})
