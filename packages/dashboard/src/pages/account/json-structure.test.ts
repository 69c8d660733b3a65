import { expect, test } from 'vitest'
import { jsonStructure } from './json-structure.ts'

const isWhole = (text: string) => {
  const structure = jsonStructure()
  // Byte by byte: nothing depends on how the network has cut it.
  for (const byte of new TextEncoder().encode(text)) structure.add(Uint8Array.of(byte))
  return structure.isWhole()
}

test('a whole file is told from every beginning of it', () => {
  const text = JSON.stringify({ user: { name: 'A "quoted" \\ {name] 東京' }, list: [[], [{}], 'x]}'], end: null })
  expect(isWhole(text)).toBe(true)
  for (let length = 0; length < text.length; length++)
    expect([length, isWhole(text.slice(0, length))]).toEqual([length, false])
  expect(isWhole(`${text}\n`)).toBe(true)
})
