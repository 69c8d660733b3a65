import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { type IdKind, isId, newId } from './ids.ts'

const KINDS: IdKind[] = ['store', 'user', 'key', 'addr', 'evt', 'wh', 'dlv', 'inv', 'sess', 'svc', 'req']
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

afterEach(() => {
  vi.useRealTimers()
})

test('an id is its kind and a UUIDv7 of this moment in 26 characters', () => {
  for (const kind of KINDS) {
    const before = Date.now()
    const id = newId(kind)
    expect(id).toMatch(new RegExp(`^${kind}_[0-7][0-9a-hjkmnp-tv-z]{25}$`))
    expect(isId(kind, id)).toBe(true)
    const uuid = uuidOf(id)
    expect(Number.parseInt(uuid.slice(0, 12), 16)).toBeGreaterThanOrEqual(before)
    expect(Number.parseInt(uuid.slice(0, 12), 16)).toBeLessThanOrEqual(Date.now() + 1)
    expect([uuid[12], '89ab'.includes(uuid[16] as string)]).toEqual(['7', true])
  }
})

test('ids sort in the order of their making, and none comes twice', () => {
  const made = Array.from({ length: 50_000 }, () => newId('key'))
  expect(made.every((id, i) => i === 0 || (made[i - 1] as string) < id)).toBe(true)
})

test('they do so also when many are made within one millisecond, and from one to the next', () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 })
  const made = Array.from({ length: 10_000 }, () => newId('key'))
  vi.setSystemTime(1_800_000_000_010)
  made.push(newId('key'))
  expect(made.every((id, i) => i === 0 || (made[i - 1] as string) < id)).toBe(true)
  expect(Number.parseInt(uuidOf(made[0] as string).slice(0, 12), 16)).toBe(1_800_000_000_000)
})

test('whatever is not exactly of the form is not an id', () => {
  const good = fc.stringMatching(/^[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  fc.assert(
    fc.property(good, fc.constantFrom(...KINDS), fc.constantFrom(...KINDS), fc.nat(25), (body, kind, other, i) => {
      const id = `${kind}_${body}`
      expect(isId(kind, id)).toBe(true)
      expect(isId(other, id)).toBe(other === kind)
      const at = kind.length + 1 + i
      const changed = ['', 'i', 'l', 'o', 'u', 'A', '_', '-', ' ', '\0', 'é', '00'].map(
        (c) => id.slice(0, at) + c + id.slice(at + 1),
      )
      changed.push(body, kind + body, ` ${id}`, `${id}\n`, `${id}0`, `${kind}_8${body.slice(1)}`, `${kind}_${id}`)
      expect(changed.filter((no) => isId(kind, no))).toEqual([])
    }),
  )
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void expect(isId('key', text)).toBe(false)))
})

/** The 32 hex digits behind the 26 characters. */
function uuidOf(id: string): string {
  const digits = id.slice(id.indexOf('_') + 1)
  return [...digits]
    .reduce((sum, c) => sum * 32n + BigInt(ALPHABET.indexOf(c)), 0n)
    .toString(16)
    .padStart(32, '0')
}
