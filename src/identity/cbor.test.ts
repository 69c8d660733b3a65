import { isoCBOR } from '@simplewebauthn/server/helpers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkAuthenticatorData, checkCbor } from './cbor.ts'

type Value = number | string | boolean | null | Uint8Array | Value[] | Map<string, Value>

const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.integer(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    // A length of one byte, and of two and three.
    fc.string({ maxLength: 400 }),
    fc.uint8Array({ maxLength: 70_000, size: 'max' }),
    fc.array(fc.integer(), { maxLength: 200, size: 'max' }),
    fc.array(tie('value'), { maxLength: 40 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 40 }).map((members) => new Map(Object.entries(members))),
  ),
}))

function count(one: Value): number {
  if (Array.isArray(one)) return 1 + one.reduce<number>((sum, item) => sum + count(item), 0)
  if (!(one instanceof Map)) return 1
  return 1 + one.size + [...one.values()].reduce<number>((sum, item) => sum + count(item), 0)
}

test('values are counted as the library decodes them, however they are nested and long', () => {
  fc.assert(
    fc.property(value, (one) => {
      const check = () => checkCbor(isoCBOR.encode(one))
      if (count(one) > 100) expect(check).toThrow('more than 100 values')
      else check()
    }),
  )
})

test('a length that is not told in advance is no end of the counting', () => {
  expect(() => checkCbor(Buffer.from('9f00ff', 'hex'))).toThrow('more than 100 values')
  checkCbor(Buffer.from('5b', 'hex'))
  checkCbor(Buffer.from('5bffffffffffffffff00', 'hex'))
  checkCbor(Buffer.alloc(0))
})

test('of what an authenticator signs, the key and the extensions are counted, not the id of the credential', () => {
  const data = (flags: number, rest: Buffer) =>
    Buffer.concat([Buffer.alloc(32), Buffer.from([flags, 0, 0, 0, 0]), rest])
  const credential = (id: Buffer, key: Buffer) =>
    Buffer.concat([Buffer.alloc(16), Buffer.from([id.length >> 8, id.length & 255]), id, key])
  const [few, many] = [Buffer.alloc(100), Buffer.alloc(101)]
  checkAuthenticatorData(data(0x40, credential(Buffer.alloc(1_023), few)))
  checkAuthenticatorData(data(0x00, few))
  checkAuthenticatorData(Buffer.alloc(3))
  expect(() => checkAuthenticatorData(data(0x40, credential(Buffer.alloc(1_023), many)))).toThrow('values')
  expect(() => checkAuthenticatorData(data(0x00, many))).toThrow('values')
  expect(() => checkAuthenticatorData(data(0x40, Buffer.alloc(4_060)))).toThrow('bytes')
})
