// E-mail addresses name an account. They are compared in lower case, with the domain in its ASCII form.

import { domainToASCII } from 'node:url'
import type { Fault } from './errors.ts'

const LOCAL = /^[^\s@\p{Cc}\p{Cf}<>()[\]\\,;:"]{1,64}$/u
const DOMAIN = /^(?=.{1,189}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/** The address in its one form, or null. */
export function normalizeEmail(text: string): string | null {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at).normalize('NFC').trim().toLowerCase()
  const domain = domainToASCII(text.slice(at + 1).trim())
  if (at < 1 || !LOCAL.test(local) || local.startsWith('.') || local.endsWith('.') || local.includes('..')) return null
  return DOMAIN.test(domain) ? `${local}@${domain}` : null
}

export function parseEmail(text: string | undefined, faults: Fault[]): string {
  const email = text === undefined ? '' : normalizeEmail(text)
  if (email !== null) return email
  faults.push({
    pointer: '#/email',
    code: 'invalid_email',
    detail: 'This is not an e-mail address.',
    example: 'ada@example.com',
  })
  return ''
}
