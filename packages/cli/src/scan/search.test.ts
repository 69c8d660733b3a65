import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mintToken, TOKEN_KINDS } from '../../../../src/crypto/tokens.ts'
import { type Finding, Search } from './search.ts'

const prefix = fc.stringMatching(/^[a-z][a-z0-9]{1,15}$/)
const planted = fc.tuple(prefix, fc.constantFrom(...TOKEN_KINDS)).map(([name, kind]) => ({
  prefix: name,
  kind,
  text: mintToken(name, kind).reveal(),
}))
/** Bytes with many line breaks and beginnings of tokens among them. */
const noise = fc
  .array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...['\n', '\r\n', 'skp_', 'kp_prod_', 'p_'])), {
    maxLength: 12,
  })
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))))
const source = fc.constantFrom('file', 'pipe')
const cuts = fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 1, maxLength: 8 })

/** Reads the bytes in pieces of these lengths, over and over, through one buffer; a file can be read again, a pipe cannot. */
function scan(name: string, bytes: Buffer, lengths: number[], from: 'file' | 'pipe' = 'pipe'): Finding[] {
  const search = new Search(name)
  search.begin(from === 'pipe' ? null : (begin, end, count) => count(bytes.subarray(begin, end)))
  const findings: Finding[] = []
  const buffer = Buffer.alloc(Math.max(...lengths))
  for (let at = 0, i = 0; at < bytes.length || i === 0; i++) {
    const length = bytes.copy(buffer, 0, at, at + (lengths[i % lengths.length] as number))
    at += length
    findings.push(...search.read(buffer.subarray(0, length), at < bytes.length))
    buffer.fill('x')
  }
  return findings
}

test('a token at any offset, however the bytes are cut, is found exactly once and at its place', () => {
  fc.assert(
    fc.property(planted, noise, noise, cuts, source, ({ prefix, kind, text }, before, after, lengths, from) => {
      const findings = scan(prefix, Buffer.concat([before, Buffer.from(text), after]), lengths, from)
      const lines = before.toString('latin1').split('\n')
      expect(findings.map(({ token, ...finding }) => ({ ...finding, text: token.reveal() }))).toEqual([
        {
          kind,
          text,
          start: text.slice(0, `${prefix}_${kind}_`.length + 4),
          line: lines.length,
          column: (lines.at(-1) as string).length + 1,
        },
      ])
    }),
    { numRuns: 2000 },
  )
})

test('at each single cut through a token, and through its neighbour', () => {
  const [one, two] = [mintToken('skp', 'prod').reveal(), mintToken('skp', 'sess').reveal()]
  const bytes = Buffer.from(`${one}${two}`)
  for (let cut = 1; cut < bytes.length; cut++) {
    const places = scan('skp', bytes, [cut, bytes.length]).map(({ token, column }) => [token.reveal(), column])
    expect(places, `cut at ${cut}`).toEqual([
      [one, 1],
      [two, one.length + 1],
    ])
  }
})

test('with one character changed it is not found', () => {
  const other = fc.oneof(fc.constantFrom(...'0aA_ .\0\n'), fc.string({ minLength: 1, maxLength: 1 }))
  fc.assert(
    fc.property(planted, noise, fc.nat(), other, cuts, ({ prefix, text }, before, place, character, lengths) => {
      const at = place % text.length
      fc.pre(text[at] !== character)
      const changed = text.slice(0, at) + character + text.slice(at + 1)
      expect(scan(prefix, Buffer.concat([before, Buffer.from(changed)]), lengths)).toEqual([])
    }),
    { numRuns: 2000 },
  )
})

test('many tokens in one text are each found, in order, and a file says the same as a pipe', () => {
  const parts = fc.array(fc.tuple(noise, fc.constantFrom(...TOKEN_KINDS)), { maxLength: 8 })
  fc.assert(
    fc.property(parts, cuts, (parts, lengths) => {
      const tokens = parts.map(([, kind]) => mintToken('skp', kind).reveal())
      const bytes = Buffer.concat(parts.flatMap(([before], i) => [before, Buffer.from(tokens[i] as string)]))
      const findings = scan('skp', bytes, lengths, 'file')
      expect(findings.map(({ token }) => token.reveal())).toEqual(tokens)
      expect(findings).toEqual(scan('skp', bytes, lengths, 'pipe'))
    }),
    { numRuns: 500 },
  )
})

test('what stands around a token does not hide it, and another prefix is not ours', () => {
  const token = mintToken('skp', 'dev').reveal()
  for (const text of [`%3D${token}%26`, `"${token}\\n"`, `skp_${token}`, `${token}${token}`, `x${token}x`, `s${token}`])
    expect(new Set(scan('skp', Buffer.from(text), [1000]).map(({ token }) => token.reveal())), text).toEqual(
      new Set([token]),
    )
  expect(scan('acme', Buffer.from(token), [1000])).toEqual([])
  expect(scan('kp', Buffer.from(token), [1000])).toEqual([])
})

test('a find does not give the token away when it is printed', () => {
  const token = mintToken('skp', 'prod').reveal()
  const [finding] = scan('skp', Buffer.from(token), [1000])
  expect(JSON.stringify(finding)).not.toContain(token.slice(0, 14))
})
