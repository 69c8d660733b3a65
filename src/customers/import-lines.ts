// The lines of an import, each checked for itself: a line that is not right fails alone, with its faults. Addresses of 2 MiB
// take seconds to check, so other requests get their turn in between, and a line with more faults than are shown is not
// checked further.

import { parseNewAddress } from '../billing/create.ts'
import type { AddressSpec } from '../billing/insert.ts'
import { NewAddress } from '../billing/schema.ts'
import { type Fault, MAX_FAULTS } from '../core/errors.ts'
import type { Instance } from '../instance.ts'
import { below, checkLine, newPause, type Pause } from '../schema/lines.ts'
import { MAX_MEMBERS } from '../schema/validate.ts'
import { parseCustomerChanges } from './customers.ts'
import { parseCustomerId } from './external-id.ts'
import { type CustomerChanges, CustomerLine, MAX_IMPORTED_ADDRESSES } from './schema.ts'

/** A line that can be imported, unless there are faults. */
export type ParsedLine = {
  n: number
  /** As it was sent where it is no external id; null where it is not even text. */
  externalId: string | null
  faults: Fault[]
  changes: CustomerChanges
  addresses: AddressSpec[]
}

export function checkAddressCount(lines: unknown[], faults: Fault[]): void {
  const counts = lines.map((line) => (isObject(line) && Array.isArray(line.addresses) ? line.addresses.length : 0))
  if (counts.reduce((sum, count) => sum + count, 0) <= MAX_IMPORTED_ADDRESSES) return
  const detail = `One import can bring at most ${MAX_IMPORTED_ADDRESSES} addresses, of all customers together. Send several.`
  faults.push({ pointer: '#/customers', code: 'too_long', detail })
}

export async function parseLines(instance: Instance, lines: unknown[]): Promise<ParsedLine[]> {
  const pause = newPause()
  const seen = new Set<string>()
  const parsed: ParsedLine[] = []
  for (const [n, line] of lines.entries()) {
    await pause()
    const result = await parseLine(instance, line, n, pause)
    const { externalId, faults } = result
    if (externalId !== null && seen.has(externalId))
      faults.unshift({
        pointer: `#/customers/${n}/externalId`,
        code: 'duplicate',
        detail: 'An earlier entry has the same external id. Send each customer once.',
      })
    if (externalId !== null) seen.add(externalId)
    parsed.push(result)
  }
  return parsed
}

async function parseLine(instance: Instance, line: unknown, n: number, pause: Pause): Promise<ParsedLine> {
  const at = `#/customers/${n}`
  const { rest, addresses } = withoutAddresses(line)
  const { faults: found, isComplete } = checkLine(CustomerLine, rest)
  const faulty = new Set(found.map(({ pointer }) => pointer))
  const faults = below(at, found)
  const given: Partial<CustomerLine> = isObject(rest) ? rest : {}
  const text = typeof given.externalId === 'string' ? given.externalId : null
  const externalId = text === null ? null : parseCustomerId(text, `${at}/externalId`, faults)
  const details = Object.fromEntries(
    (['email', 'name'] as const)
      .filter((field) => isComplete && field in given && !faulty.has(`#/${field}`))
      .map((field) => [field, given[field]]),
  )
  const more: Fault[] = []
  const changes = parseCustomerChanges(details, more)
  faults.push(...below(at, more))
  const specs: AddressSpec[] = []
  for (const [i, address] of addresses.entries()) {
    if (faults.length >= MAX_FAULTS) break
    await pause()
    const inAddress = checkLine(NewAddress, address).faults
    // The schema has passed it.
    if (inAddress.length === 0) specs.push(parseNewAddress(address as NewAddress, instance, inAddress))
    faults.push(...below(`${at}/addresses/${i}`, inAddress))
  }
  return { n, externalId: externalId ?? text?.slice(0, 255) ?? null, faults, changes, addresses: specs }
}

/** Addresses are checked one after the other. What is no list of them, or far too long, stays in the line, which then has a fault. */
function withoutAddresses(line: unknown): { rest: unknown; addresses: unknown[] } {
  if (!isObject(line) || !Array.isArray(line.addresses) || line.addresses.length > MAX_MEMBERS)
    return { rest: line, addresses: [] }
  return { rest: { ...line, addresses: [] }, addresses: line.addresses }
}

function isObject(value: unknown): value is Partial<CustomerLine> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
