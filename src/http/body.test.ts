import { expect, test } from 'vitest'
import { newBodyBuffer } from './body.ts'

test('a body is what was sent, in whatever pieces it came', () => {
  const text = Buffer.from(Array.from({ length: 5_000 }, (_, n) => n % 251))
  for (const size of [1, 7, 64, 4_999, 5_000]) {
    const body = newBodyBuffer()
    for (let at = 0; at < text.length; at += size) body.add(text.subarray(at, at + size))
    expect(body.bytes().equals(text)).toBe(true)
    expect([body.length(), body.isTrickling()]).toEqual([5_000, size === 1])
  }
  expect(newBodyBuffer().bytes()).toHaveLength(0)
})

test('pieces that are added later do not change what was sent before', () => {
  const first = Buffer.from('abc')
  const body = newBodyBuffer()
  body.add(first.subarray(0, 2))
  body.add(Buffer.from('xyz'))
  expect([body.bytes().toString(), first.toString()]).toEqual(['abxyz', 'abc'])
})
