// Values as they are written on a command line: times, limits, lists.

import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { callerPath, type Io } from '../../../src/cli/io.ts'

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/

/** `90d` and the like, in seconds. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  if (!count) throw new InvalidArgumentError('Write 45s, 30m, 24h, 90d or 2w.')
  return Number(count) * SECONDS[unit as keyof typeof SECONDS]
}

/** A time to come. */
export function parseFuture(text: string): string {
  return parseMoment(text, 1)
}

/** A time that is over. */
export function parsePast(text: string): string {
  return parseMoment(text, -1)
}

/** `never`, or a time to come. */
export function parseExpiry(text: string): string {
  return text === 'never' ? text : parseFuture(text)
}

function parseMoment(text: string, direction: 1 | -1): string {
  if (RFC_3339.test(text)) {
    const at = new Date(text.replace(' ', 'T'))
    if (!Number.isNaN(at.getTime())) return at.toISOString()
  }
  if (!/^\d+[smhdw]$/.test(text))
    throw new InvalidArgumentError('Write a time as 90d, 24h or 2027-01-31T12:00:00Z (RFC 3339).')
  const at = new Date(Date.now() + direction * parseDuration(text) * 1000)
  if (Number.isNaN(at.getTime())) throw new InvalidArgumentError('That is too far away.')
  return at.toISOString()
}

export function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Write a whole number.')
  return Number(text)
}

/** Repeated, or with commas between: `--permission READ --permission WRITE`, `--permission READ,WRITE`. */
export function addWords(text: string, before: string[] = []): string[] {
  return [...before, ...text.split(',').map((word) => word.trim())].filter((word) => word !== '')
}

/** Repeated, each as it is. */
export function addText(text: string, before: string[] = []): string[] {
  return [...before, text]
}

export type RateLimit = { limit: number; windowSeconds: number }
export type NamedLimit = RateLimit & { name: string; shared?: 'owner' }

/** `100/60s`, and `100/m` for one minute. */
export function parseRateLimit(text: string): RateLimit {
  const [, limit, window] = /^(\d{1,10})\/(\d*[smhdw])$/.exec(text) ?? []
  if (!limit || !window) throw new InvalidArgumentError('Write it as 100/60s: how many, and in how long.')
  return { limit: Number(limit), windowSeconds: parseDuration(/^\d/.test(window) ? window : `1${window}`) }
}

/** `exports=10/1h`; with `:owner` at the end all keys of an owner share it. */
export function addNamedLimit(text: string, before: NamedLimit[] = []): NamedLimit[] {
  const [, name, limit, shared] = /^([^=]+)=([^:]+)(:owner)?$/.exec(text) ?? []
  if (!name || !limit) throw new InvalidArgumentError('Write it as exports=10/1h, or exports=10/1h:owner.')
  return [...before, { name, ...parseRateLimit(limit), ...(shared ? { shared: 'owner' as const } : {}) }]
}

export type Refill = { amount: number; interval: 'HOUR' | 'DAY' | 'MONTH'; dayOfMonth?: number }

/** `1000/MONTH`, `1000/MONTH:15`. */
export function parseRefill(text: string): Refill {
  const [, amount, interval, day] = /^(\d{1,15})\/(HOUR|DAY|MONTH)(?::(\d{1,2}))?$/i.exec(text) ?? []
  if (!amount || !interval) throw new InvalidArgumentError('Write it as 1000/DAY, or 1000/MONTH:15.')
  return {
    amount: Number(amount),
    interval: interval.toUpperCase() as Refill['interval'],
    ...(day ? { dayOfMonth: Number(day) } : {}),
  }
}

/** A word of a list, in any case. */
export function oneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase())
    if (!found) throw new InvalidArgumentError(`It is one of ${words.join(', ')}.`)
    return found
  }
}

export function jsonObjectFor(io: Pick<Io, 'cwd'>): (text: string) => Record<string, unknown> {
  return (text) => {
    try {
      const isFile = text.startsWith('@')
      const value: unknown = JSON.parse(isFile ? readFileSync(callerPath(io, text.slice(1)), 'utf8') : text)
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    } catch {}
    throw new InvalidArgumentError('Write a JSON object, or @ and the name of a file that holds one.')
  }
}
