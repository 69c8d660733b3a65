import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServerKeys } from './keyring.ts'
import { randomBytes } from './random.ts'
import { seal, unseal } from './seal.ts'
import { Secret } from './secret.ts'
import { mintToken, sha256, type TokenKind, tokenKind } from './tokens.ts'

const LONG = { sess: 43, svc: 43, inv: 43, reset: 43, confirm: 43 }
const LENGTHS: Record<TokenKind, number> = { prod: 32, test: 32, dev: 32, ...LONG }
const kind = fc.constantFrom(...(Object.keys(LENGTHS) as TokenKind[]))
const prefix = fc.stringMatching(/^[a-z][a-z0-9]{1,15}$/)
const token = fc.tuple(prefix, kind).map(([p, k]) => ({ prefix: p, kind: k, text: mintToken(p, k).reveal() }))

// ---- tokens -----------------------------------------------------------------------------------------------------

test('a token is prefix, kind, random base62 characters and six of checksum', () => {
  fc.assert(
    fc.property(token, ({ prefix, kind, text }) => {
      expect(text).toMatch(new RegExp(`^${prefix}_${kind}_[0-9A-Za-z]{${LENGTHS[kind] + 6}}$`))
      expect(tokenKind(prefix, text)).toBe(kind)
    }),
  )
})

test('the checksum is CRC-32 over all that stands before, so that anyone can check it', () => {
  // CRC-32 of "skp_prod_" and 32 zeros is 0x8fa738ef, in six base62 digits.
  expect(tokenKind('skp', `skp_prod_${'0'.repeat(32)}2d6XMN`)).toBe('prod')
})

test('one character changed, at any place, is never a token', () => {
  const character = fc.oneof(fc.constantFrom(...'0aA_ .\0é'), fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }))
  fc.assert(
    fc.property(token, character, ({ prefix, text }, other) => {
      const changed = [...text].flatMap((c, i) => {
        const [before, after] = [text.slice(0, i), text.slice(i + 1)]
        return [...(other === c ? [] : [before + other + after]), before + after, before + c + c + after]
      })
      expect(changed.filter((no) => tokenKind(prefix, no) !== null)).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('in the other case, doubled, with something around it, or under another prefix it is no token', () => {
  fc.assert(
    fc.property(token, prefix, ({ prefix, kind, text }, other) => {
      const random = text.slice(`${prefix}_${kind}_`.length)
      const changed = [
        text.toUpperCase(),
        text.slice(0, -random.length) + swapCase(random),
        text + text,
        `${text} `,
        ` ${text}`,
        `${text}\n`,
        `${text}\0`,
        `Bearer ${text}`,
        random,
        text.replaceAll('_', '-'),
      ]
      for (const no of changed) expect(tokenKind(prefix, no)).toBe(null)
      if (other !== prefix) expect(tokenKind(other, text)).toBe(null)
    }),
  )
})

test('any text at all is answered, and at once', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void expect(tokenKind('skp', text)).toBe(null)))
  for (const text of ['', '_', 'skp', 'skp_', 'skp__', 'skp_prod', 'skp_prod_', 'skp_constructor_x', 'skp___proto___x'])
    expect(tokenKind('skp', text)).toBe(null)
  // A million characters, in less time than it takes to hash them twenty times.
  for (const text of [`skp_prod_${'a'.repeat(1e6)}`, `skp${'_'.repeat(1e6)}`]) {
    const reference = quickest(() => Array.from({ length: 20 }, () => sha256(text)))
    expect(quickest(() => expect(tokenKind('skp', text)).toBe(null))).toBeLessThan(reference)
  }
})

test('no two tokens are alike, and every character is as likely as any other', () => {
  const made = Array.from({ length: 10_000 }, () => mintToken('skp', 'prod').reveal())
  expect(new Set(made).size).toBe(made.length)
  const counts = new Map<string, number>()
  for (const text of made) for (const c of text.slice(9, 9 + 32)) counts.set(c, (counts.get(c) ?? 0) + 1)
  expect(counts.size).toBe(62)
  // 5161 of each on average; 10 % off would be seven standard deviations.
  for (const [c, count] of counts) expect(Math.abs(count - 320_000 / 62), c).toBeLessThan(516)
})

test('random bytes are never handed out twice', () => {
  const made = Array.from({ length: 5000 }, () => Buffer.from(randomBytes(16)).toString('hex'))
  expect(new Set(made).size).toBe(made.length)
  expect(made.every((hex) => hex.length === 32)).toBe(true)
})

// ---- a secret in the code ---------------------------------------------------------------------------------------

test('a secret prints as [secret], however it is printed', () => {
  const secret = new Secret('hunter2')
  const error = new Error(`about ${secret}`, { cause: secret })
  const printed = [
    `${secret}`,
    `${secret}!`,
    secret.toString(),
    String([secret]),
    JSON.stringify({ secret, list: [secret] }),
    inspect(secret, { showHidden: true, depth: null }),
    inspect({ deep: { secret }, error }, { showHidden: true, depth: null }),
    inspect(Object.getOwnPropertyDescriptors(secret), { showHidden: true }),
    String(error),
    JSON.stringify(Object.entries(secret)),
    JSON.stringify(structuredClone({ ...secret })),
  ]
  for (const text of printed) expect(text).not.toContain('hunter2')
  expect(printed.slice(0, 5)).toEqual([
    '[secret]',
    '[secret]!',
    '[secret]',
    '[secret]',
    '{"secret":"[secret]","list":["[secret]"]}',
  ])
  expect(secret.reveal()).toBe('hunter2')
})

test('the keys derived from the server secret are not shown either', () => {
  const keys = new ServerKeys(Buffer.alloc(32, 7))
  const shown = inspect(keys, { showHidden: true, depth: null }) + JSON.stringify(keys)
  expect(JSON.parse(JSON.stringify(keys))).toEqual({ kid: keys.kid })
  expect(shown).not.toMatch(/Buffer|0707/)
})

// ---- keyed hashes and sealing -----------------------------------------------------------------------------------

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

test('lists of parts that differ have hashes that differ, also where their letters run together', () => {
  const keys = new ServerKeys(Buffer.alloc(32, 7))
  const parts = fc.array(fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'b', '\0') }), { maxLength: 3 })
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      const same = JSON.stringify(one) === JSON.stringify(other)
      expect(keys.hmac('cursor', ...one).equals(keys.hmac('cursor', ...other))).toBe(same)
      expect(keys.hmac('cursor', ...one).equals(keys.hmac('key-hash', ...one))).toBe(false)
    }),
    { numRuns: 500 },
  )
})

test('another server secret has another name and other hashes', () => {
  const [one, other] = [new ServerKeys(Buffer.alloc(32, 7)), new ServerKeys(Buffer.alloc(32, 8))]
  expect(one.kid).not.toBe(other.kid)
  expect(one.hmac('key-hash', 'x').equals(other.hmac('key-hash', 'x'))).toBe(false)
  expect(new ServerKeys(Buffer.alloc(32, 7)).hmac('key-hash', 'x')).toEqual(one.hmac('key-hash', 'x'))
})

test('what was sealed opens again, under the same key and for the same thing', () => {
  fc.assert(
    fc.property(bytes32, fc.string({ unit: 'binary' }), fc.string(), (key, plain, bound) => {
      expect(unseal(key, seal(key, plain, bound), bound).toString()).toBe(Buffer.from(plain).toString())
    }),
  )
})

test('under another key, for another thing, or with one bit changed it does not open', () => {
  const inputs = fc.tuple(bytes32, bytes32, fc.string({ maxLength: 20 }), fc.string(), fc.string(), fc.nat())
  fc.assert(
    fc.property(inputs, ([key, otherKey, plain, bound, otherBound, n]) => {
      fc.pre(Buffer.compare(key, otherKey) !== 0 && bound !== otherBound)
      const sealed = seal(key, plain, bound)
      expect(() => unseal(otherKey, sealed, bound)).toThrow()
      expect(() => unseal(key, sealed, otherBound)).toThrow()
      const bent = Buffer.from(sealed)
      const place = n % (8 * bent.length)
      bent[place >> 3] = (bent[place >> 3] as number) ^ (1 << (place & 7))
      expect(() => unseal(key, bent, bound)).toThrow()
      expect(() => unseal(key, Buffer.concat([sealed, Buffer.from([0])]), bound)).toThrow()
      for (let length = 0; length < sealed.length; length++)
        expect(() => unseal(key, sealed.subarray(0, length), bound)).toThrow()
    }),
  )
})

test('the same text sealed twice looks different each time', () => {
  const key = randomBytes(32)
  const made = Array.from({ length: 1000 }, () => seal(key, 'the same', 'x').toString('hex'))
  expect(new Set(made.map((hex) => hex.slice(0, 24))).size).toBe(1000)
  expect(made.join()).not.toContain(Buffer.from('the same').toString('hex'))
})

function swapCase(text: string): string {
  return [...text].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('')
}

/** The best of three: what else this machine does is not ours. */
function quickest(work: () => unknown): number {
  const times = [1, 2, 3].map(() => {
    const start = performance.now()
    work()
    return performance.now() - start
  })
  return Math.min(...times)
}
