import { expect, test } from 'vitest'
import { matchTotp, toBase32, totpCode, totpStep, totpUri } from './totp.ts'

const SECRET = Buffer.from('12345678901234567890')

test('the codes are those of RFC 6238, appendix B, cut to six digits', () => {
  const published: [number, string][] = [
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ]
  for (const [seconds, code] of published) expect(totpCode(SECRET, totpStep(seconds * 1000))).toBe(code.slice(2))
})

test('a code counts for its own step and the ones beside it', () => {
  const at = 1_234_567_890_000
  const step = totpStep(at)
  const found = [-2, -1, 0, 1, 2].map((away) => matchTotp(SECRET, totpCode(SECRET, step + away), at))
  expect(found).toEqual([null, step - 1, step, step + 1, null])
  for (const wrong of ['', '12345', '1234567', 'abcdef', '\u0661\u0662\u0663\u0664\u0665\u0666'])
    expect(matchTotp(SECRET, wrong, at)).toBeNull()
})

test('secrets in base32 are those of RFC 4648', () => {
  const published = { f: 'MY', fo: 'MZXQ', foo: 'MZXW6', foob: 'MZXW6YQ', fooba: 'MZXW6YTB', foobar: 'MZXW6YTBOI' }
  for (const [plain, encoded] of Object.entries(published)) expect(toBase32(Buffer.from(plain))).toBe(encoded)
  expect(totpUri(Buffer.from('foobar'), 'The shop', 'ada@example.com').reveal()).toBe(
    'otpauth://totp/The%20shop:ada%40example.com?secret=MZXW6YTBOI&issuer=The%20shop&algorithm=SHA1&digits=6&period=30',
  )
})
