import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { newIsProxy, placeOfClient, type TrustProxy } from './client-address.ts'

const request = (remoteAddress: string | undefined, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as IncomingMessage

function place(trustProxy: TrustProxy, ...about: Parameters<typeof request>): string {
  const isProxy = newIsProxy(trustProxy)
  if (!isProxy) throw new Error('There is no proxy.')
  return placeOfClient(request(...about), isProxy)
}

test('the client is whom the last trusted proxy names, and what it writes itself counts for nothing', () => {
  for (const trustProxy of [1, ['127.0.0.0/8']]) {
    expect(place(trustProxy, '127.0.0.1', '192.0.2.1')).toBe('192.0.2.1')
    expect(place(trustProxy, '127.0.0.1', '198.51.100.7, 192.0.2.1')).toBe('192.0.2.1')
    expect(place(trustProxy, '127.0.0.1', '192.0.2.1:4711')).toBe('192.0.2.1')
    expect(place(trustProxy, '127.0.0.1', '2001:db8:1:2:3::4')).toBe('2001:db8:1:2::/64')
    expect(place(trustProxy, '127.0.0.1')).toBe('127.0.0.1')
  }
  expect(place(['10.0.0.0/8'], '203.0.113.9', '192.0.2.1')).toBe('203.0.113.9')
  expect(place(['127.0.0.1', '10.0.0.0/8'], '127.0.0.1', '192.0.2.1, 10.0.0.1')).toBe('192.0.2.1')
  expect(place(['127.0.0.1', '10.0.0.0/8'], '127.0.0.1', '192.0.2.1, ::10.0.0.1')).toBe('::/64')
  expect(newIsProxy(false)).toBeNull()
})

test('garbage has a place, and so has a connection that was reset before it was accepted', () => {
  for (const trustProxy of [1, ['127.0.0.0/8']])
    for (const forwarded of [
      undefined,
      '',
      ',',
      ', ,',
      'unknown',
      '::::',
      '[',
      'x'.repeat(16_000),
      '1.2.3.4.5',
      '%eth0',
    ])
      for (const remoteAddress of [undefined, '127.0.0.1', '::1'])
        expect(typeof place(trustProxy, remoteAddress, forwarded)).toBe('string')
})
