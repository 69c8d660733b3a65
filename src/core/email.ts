// E-mail addresses name an account. They are compared in one form: NFKC, so that full-width letters are letters, and lower
// case, with the domain in its ASCII form. The part before the @ is of one script, so that no Cyrillic letter passes for a
// Latin one.

import { domainToASCII } from 'node:url'
import type { Fault } from './errors.ts'

const LOCAL = /^[^\s@\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}<>()[\]\\,;:"]{1,64}$/u
/** What would end the host of a URL, or hide a character: `domainToASCII` reads its text as one. */
const NO_DOMAIN = /[\s\p{Cc}/\\?#%:@]/u
const DOMAIN = /^(?=.{1,189}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/** The scripts in everyday use (UAX 31, table 5). Japanese and Korean are written with several. */
const SCRIPTS = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Arabic',
  'Hebrew',
  'Armenian',
  'Georgian',
  'Ethiopic',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Thai',
  'Lao',
  'Tibetan',
  'Myanmar',
  'Khmer',
  'Thaana',
  'Han Hiragana Katakana',
  'Han Hangul',
  'Han Bopomofo',
].map((names) => {
  const scripts = names.split(' ').map((name) => `\\p{Script_Extensions=${name}}`)
  return new RegExp(`^[${scripts.join('')}\\p{Script=Common}\\p{Script=Inherited}]*$`, 'u')
})

/** No address is longer. Shorter ones are normalized in any case, so that each has one form, which takes 0.5 ms at most. */
const MAX_LENGTH = 400

/** The address in its one form, or what is wrong with it. */
function readEmail(text: string): { email: string } | { fault: 'form' | 'scripts' } {
  const plain = text.length > MAX_LENGTH ? '' : text.normalize('NFKC').trim()
  const at = plain.lastIndexOf('@')
  const local = plain.slice(0, at).trim().toLowerCase().normalize('NFKC')
  const after = plain.slice(at + 1).trim()
  const domain = NO_DOMAIN.test(after) ? '' : domainToASCII(after)
  if (at < 1 || !LOCAL.test(local) || local.startsWith('.') || local.endsWith('.') || local.includes('..'))
    return { fault: 'form' }
  if (!DOMAIN.test(domain)) return { fault: 'form' }
  return SCRIPTS.some((script) => script.test(local)) ? { email: `${local}@${domain}` } : { fault: 'scripts' }
}

/** Where the mail arrives, for counting: many servers deliver `ada+shop@` to `ada@`. */
export function mailboxOf(email: string): string {
  return email.replace(/(?<=.)\+[^@]*(?=@)/, '')
}

export function normalizeEmail(text: string): string | null {
  const read = readEmail(text)
  return 'email' in read ? read.email : null
}

export function parseEmail(text: string | undefined, faults: Fault[]): string {
  if (text === undefined) return ''
  const read = readEmail(text)
  if ('email' in read) return read.email
  const [pointer, example] = ['#/email', 'ada@example.com']
  if (read.fault === 'form')
    faults.push({ pointer, code: 'invalid_email', detail: 'This is not an e-mail address.', example })
  else
    faults.push({
      pointer,
      code: 'mixed_scripts',
      detail:
        'The part before the @ mixes letters of different scripts, such as Latin and Cyrillic. Use only one script.',
      example,
    })
  return ''
}
