import { expect, test } from 'vitest'
import { normalizeEmail, parseEmail } from './email.ts'
import type { Fault } from './errors.ts'

test('an address has one form', () => {
  for (const text of [
    'ada@example.com',
    ' Ada@EXAMPLE.com ',
    'ａｄａ@example.com',
    'ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ',
    'ⓐⓓⓐ@example.com',
  ])
    expect(normalizeEmail(text), text).toBe('ada@example.com')
  expect(normalizeEmail('ada@bücher.example')).toBe('ada@xn--bcher-kva.example')
  // However many accents it has.
  const accents = '\u0301'.repeat(40)
  expect(normalizeEmail(`ａｄａ${accents}@example.com`)).toBe(normalizeEmail(`ada${accents}@example.com`))
  expect(normalizeEmail(`ada${accents}@example.com`)).not.toBeNull()
  expect(normalizeEmail(`${'a'.repeat(60)}${' '.repeat(400)}@example.com`)).toBeNull()
  // Characters that cannot be seen would make accounts that look alike.
  for (const hidden of ['\u034f', '\u200b', '\u115f', '\ufe00', '\ufe0f', '\u{e0100}'])
    expect(normalizeEmail(`ada${hidden}@example.com`)).toBeNull()
})

test('what is no address is not cut to one', () => {
  for (const domain of ['example.com/evil.org', 'example.com#x', 'example.com?x', 'example.com\\x', 'example.com:25'])
    expect(normalizeEmail(`ada@${domain}`), domain).toBeNull()
  for (const domain of ['ex%61mple.com', 'exam\tple.com', 'example.com／evil.org', 'exam ple.com'])
    expect(normalizeEmail(`ada@${domain}`), domain).toBeNull()
})

test('the part before the @ is of one script', () => {
  const own = [
    'ada+shop_1@example.com',
    'jürgen@example.com',
    'ада@example.com',
    'άδα@example.com',
    '山田たろう@example.com',
  ]
  for (const text of [...own, 'आदा@example.com', '김철수2@example.com'])
    expect(normalizeEmail(text), text).not.toBeNull()
  for (const text of ['adа@example.com', 'αda@example.com', 'ada-та@example.com', 'adა@example.com']) {
    const faults: Fault[] = []
    expect(parseEmail(text, faults)).toBe('')
    expect(faults.map(({ code, pointer }) => [pointer, code])).toEqual([['#/email', 'mixed_scripts']])
  }
})
