// Keys from elsewhere, as people have them: JSON, lines of JSON, or a table with commas, semicolons or tabs. What is read here
// is only put into its form; the service checks it, line by line.

import type { KeyLine } from '@storekeeper/client'

export type Defaults = { type: string; permissions: string[] }
export type Line = KeyLine & { name: string }

/** Columns of a table, and members of an object, by the names that other services give them. */
const NAMES: Record<string, keyof KeyLine | 'description'> = {
  name: 'name',
  label: 'name',
  value: 'value',
  key: 'value',
  secret: 'value',
  sha256: 'sha256',
  hash: 'sha256',
  type: 'type',
  environment: 'type',
  permissions: 'permissions',
  scopes: 'permissions',
  owner: 'owner',
  ownerid: 'owner',
  externalid: 'owner',
  expiresat: 'expiresAt',
  expires: 'expiresAt',
  enabled: 'enabled',
  description: 'description',
  ipallowlist: 'ipAllowlist',
}

/** Lines for the API. Throws with the message of what cannot be read. */
export function parseLines(text: string, defaults: Defaults): Line[] {
  return recordsOf(text).map((record, n) => toLine(record, n, defaults))
}

/** A text with some of the lines of another, by their places in it: of the same kind, and without defaults. */
export function onlyLines(text: string, places: readonly number[]): string {
  if (places.length === 0) return ''
  const records = recordsOf(text).filter((_, n) => places.includes(n))
  if (isJson(text)) return JSON.stringify(records, null, 2)
  const titles = Object.keys(records[0] ?? {})
  return [titles, ...records.map((record) => titles.map((title) => String(record[title])))]
    .map((cells) => `${cells.map(quoted).join(',')}\n`)
    .join('')
}

const quoted = (cell: string) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

type Fields = Record<string, unknown>

const isJson = (text: string) => /^\s*[[{]/.test(text)

function recordsOf(text: string): Fields[] {
  const trimmed = text.trim()
  if (trimmed === '') return []
  return isJson(trimmed) ? fromJson(trimmed) : fromTable(trimmed)
}

function fromJson(text: string): Fields[] {
  const whole = tryJson(text)
  const given =
    whole === undefined
      ? text
          .split('\n')
          .filter((line) => line.trim() !== '')
          .map((line) => JSON.parse(line) as unknown)
      : Array.isArray(whole)
        ? whole
        : ((whole as { keys?: unknown[] }).keys ?? [whole])
  return given.map((one) => (typeof one === 'object' && one !== null ? (one as Fields) : { value: one }))
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fromTable(text: string): Fields[] {
  const firstLine = text.split('\n', 1)[0] as string
  const separator = ['\t', ';', ','].find((mark) => firstLine.includes(mark)) ?? ','
  const [first = [], ...rest] = rowsOf(text, separator)
  const hasTitles = first.some((title) => ['value', 'sha256'].includes(NAMES[plain(title)] ?? ''))
  const titles = hasTitles ? first : first.length === 1 ? ['value'] : ['name', 'value', 'type', 'permissions']
  return (hasTitles ? rest : [first, ...rest]).map((cells) =>
    Object.fromEntries(titles.map((title, n) => [title, cells[n] ?? ''])),
  )
}

/** RFC 4180: a cell in quotes may have separators, line breaks and doubled quotes. */
function rowsOf(text: string, separator: string): string[][] {
  const rows: string[][] = [[]]
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}\\r\\n]*))(${separator}|\\r?\\n|$)`, 'y')
  while (cell.lastIndex < text.length) {
    const match = cell.exec(text)
    if (!match) throw new SyntaxError(`line ${rows.length}`)
    const [, quoted, bare = '', end] = match
    rows.at(-1)?.push(quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"'))
    if (end !== separator && cell.lastIndex < text.length) rows.push([])
  }
  return rows.filter((row) => row.some((value) => value !== ''))
}

const plain = (title: string) => title.toLowerCase().replace(/[^a-z0-9]/g, '')

function toLine(record: Fields, n: number, defaults: Defaults): Line {
  const line: Fields = {}
  for (const [title, value] of Object.entries(record)) {
    const name = NAMES[plain(title)]
    if (value === '' || value === null || value === undefined) continue
    if (name === 'description') line.metadata = { ...(line.metadata as object), description: value }
    // What is not known by another name is sent as it is, so that the service can say what is wrong with it.
    else line[name ?? title] = typeof value === 'string' ? fromText(name, value) : value
  }
  return { name: `Imported ${n + 1}`, ...defaults, ...line } as Line
}

function fromText(name: string | undefined, text: string): unknown {
  if (name === 'permissions' || name === 'ipAllowlist') return text.split(/[\s,;|]+/).filter(Boolean)
  if (name === 'enabled') return !/^(false|no|off|0)$/i.test(text)
  if (name === 'type') return text.toUpperCase()
  return text
}

const MAX_LINES = 1_000
/** Below the 2 MiB that the service takes. */
const MAX_CHARACTERS = 600_000

/** In parts that the service takes in one request. */
export function inParts(lines: Line[]): Line[][] {
  const parts: Line[][] = []
  let size = 0
  for (const line of lines) {
    const characters = JSON.stringify(line).length
    const part = parts.at(-1)
    if (!part || part.length >= MAX_LINES || size + characters > MAX_CHARACTERS) {
      parts.push([line])
      size = characters
    } else {
      part.push(line)
      size += characters
    }
  }
  return parts
}
