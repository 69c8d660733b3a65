// What was pasted, as the lines of an import: JSON, JSON line by line, or CSV with a line of names. One customer may stand
// in several lines of CSV, once for each address.

import type { CustomerLine, NewAddress } from '@storekeeper/client'
import { FIELDS } from '../../components/address/values.ts'
import { texts } from '../../texts.ts'

export type Parsed = { lines: CustomerLine[]; ignored: string[] }

const errors = texts.customers.importErrors

/** Throws an error whose message can be shown. */
export function parseImport(text: string): Parsed {
  const given = text.replace(/^\uFEFF/, '').trim()
  if (given === '') throw new Error(errors.empty)
  return /^[[{]/.test(given) ? { lines: parseJson(given), ignored: [] } : parseCsv(given)
}

function parseJson(text: string): CustomerLine[] {
  const isLines = /^\{.*\}\s*\n\s*\{/.test(text)
  let read: unknown
  try {
    read = isLines
      ? text
          .split('\n')
          .filter((line) => line.trim())
          .map((line) => JSON.parse(line))
      : JSON.parse(text)
  } catch (error) {
    throw new Error(errors.json + (error as Error).message)
  }
  const list = Array.isArray(read) ? read : (read as { customers?: unknown }).customers
  const isLine = (line: unknown) => typeof (line as CustomerLine | null)?.externalId === 'string'
  // Whatever else is wrong with a line is for the service to say.
  if (!Array.isArray(list) || list.length === 0 || !list.every(isLine)) throw new Error(errors.shape)
  return list as CustomerLine[]
}

function parseCsv(text: string): Parsed {
  const [head = [], ...rows] = csvRows(text)
  const names = head.map(nameOfColumn)
  if (!names.includes('externalId')) throw new Error(errors.header)
  const lines = new Map<string, CustomerLine & { addresses: NewAddress[] }>()
  for (const row of rows) {
    const cells: Record<string, string> = {}
    for (const [n, name] of names.entries()) if (name && row[n]?.trim()) cells[name] = row[n].trim()
    const { externalId = '', email, name, ...address } = cells
    const line = lines.get(externalId) ?? { externalId, addresses: [] }
    lines.set(externalId, Object.assign(line, email ? { email } : {}, name ? { name } : {}))
    if (Object.keys(address).length > 0) line.addresses.push(address as unknown as NewAddress)
  }
  if (lines.size === 0) throw new Error(errors.empty)
  return { lines: [...lines.values()], ignored: head.filter((_, n) => names[n] === null && head[n]?.trim()) }
}

const COLUMNS = ['externalId', 'email', 'name', ...FIELDS]
const key = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** `external_id`, `Postal code` and `postalCode` are the same. */
function nameOfColumn(text: string): string | null {
  return COLUMNS.find((name) => key(name) === key(text)) ?? null
}

/** RFC 4180, with commas, semicolons or tabs between the cells: whichever stands first in the line of names. */
function csvRows(text: string): string[][] {
  const separator = /[,;\t]/.exec(text.split('\n')[0] ?? '')?.[0] ?? ','
  const rows: string[][] = [[]]
  let [cell, quoted, line, opened] = ['', false, 1, 0]
  const endCell = () => {
    rows.at(-1)?.push(cell)
    cell = ''
  }
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (char === '\n') line++
    if (quoted) {
      if (char !== '"') cell += char
      else if (text[i + 1] === '"') cell += text[++i]
      else quoted = false
    } else if (char === '"' && cell === '') [quoted, opened] = [true, line]
    else if (char === separator) endCell()
    else if (char === '\n') {
      endCell()
      rows.push([])
    } else if (char !== '\r') cell += char
  }
  if (quoted) throw new Error(errors.quote(opened))
  endCell()
  return rows.filter((row) => row.some((value) => value.trim() !== ''))
}

const MAX_LINES = 1_000
const MAX_ADDRESSES = 5_000
/** The service takes 2 MiB; what is around the lines needs a little. */
const MAX_BYTES = 1.9 * 1024 * 1024

/** In parts that the service takes at once. */
export function partsOf(lines: CustomerLine[]): CustomerLine[][] {
  const parts: CustomerLine[][] = []
  let [bytes, addresses] = [Number.POSITIVE_INFINITY, 0]
  for (const line of lines) {
    const added = line.addresses?.length ?? 0
    const size = new TextEncoder().encode(JSON.stringify(line)).length + 1
    const isFull = (parts.at(-1)?.length ?? 0) >= MAX_LINES || addresses + added > MAX_ADDRESSES
    if (isFull || bytes + size > MAX_BYTES) {
      parts.push([])
      bytes = 0
      addresses = 0
    }
    parts.at(-1)?.push(line)
    bytes += size
    addresses += added
  }
  return parts
}
