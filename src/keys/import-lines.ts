// The lines of an import, each checked for itself, with what its caller may give: a line that is not right fails alone,
// with all its faults.

import { checkBounds } from '../auth/bounds.ts'
import type { Manager } from '../core/caller.ts'
import { Failure, type Fault } from '../core/errors.ts'
import { checkGrant } from '../core/grant.ts'
import { IMPORTED_VALUE, sha256 } from '../crypto/tokens.ts'
import type { Instance } from '../instance.ts'
import { below, checkLine, newPause } from '../schema/lines.ts'
import type { KeySpec } from './columns.ts'
import { parseNewKey } from './input.ts'
import { KeyLine } from './schema.ts'

/** A key that can be imported, unless there are faults. */
export type ParsedLine = {
  n: number
  faults: Fault[]
  /** Of the value. Empty where it cannot be told. */
  digest: Buffer
  start: string
  spec: KeySpec
  enabled: boolean
}

/** What is shown of a value: of a short one nothing, since the rest would be too easy to guess. */
const START_CHARACTERS = 4
const MIN_SHOWN_LENGTH = 16

export async function parseLines(instance: Instance, caller: Manager, lines: unknown[]): Promise<ParsedLine[]> {
  const pause = newPause()
  const parsed: ParsedLine[] = []
  for (const [n, line] of lines.entries()) {
    await pause()
    parsed.push(parseLine(instance, caller, line, n))
  }
  return parsed
}

function parseLine(instance: Instance, caller: Manager, line: unknown, n: number): ParsedLine {
  const { faults: found, isComplete } = checkLine(KeyLine, line)
  const isReadable = isComplete && isObject(line)
  const faulty = new Set(found.map(memberOf))
  const given = isReadable ? Object.fromEntries(Object.entries(line).filter(([name]) => !faulty.has(name))) : {}
  const { value, sha256: hash, enabled = true, ...settings } = given as Partial<KeyLine>
  const more: Fault[] = []
  const digest = parseDigest(instance, value, hash, more)
  const spec = parseNewKey(settings, instance, more)
  const faults = [...found, ...more.filter((fault) => !faulty.has(memberOf(fault)))]
  if (faults.length === 0) faults.push(...grantFaults(caller, spec))
  const start = value !== undefined && value.length >= MIN_SHOWN_LENGTH ? value.slice(0, START_CHARACTERS) : ''
  // What is missing from a line that was not read is not told beside that.
  return { n, faults: below(`#/keys/${n}`, isReadable ? faults : found), digest, start, spec, enabled }
}

const memberOf = ({ pointer }: Fault) => pointer.split('/')[1] ?? ''

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The grant ceiling and the bounds of the caller's key hold for each line. */
function grantFaults(caller: Manager, spec: KeySpec): Fault[] {
  try {
    checkGrant(caller, spec.permissions)
    checkBounds(caller, { key: { ...spec, hasCredits: spec.credits !== null } })
    return []
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'cannot_grant') throw error
    return [{ pointer: '#', code: error.code, detail: error.details.detail ?? 'You cannot grant this.' }]
  }
}

// ---- values and their hashes ------------------------------------------------------------------------------------------

const NONE = Buffer.alloc(0)
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

function parseDigest(instance: Instance, value: string | undefined, hash: string | undefined, faults: Fault[]): Buffer {
  if (value !== undefined && hash !== undefined) {
    faults.push({ pointer: '#/sha256', code: 'contradiction', detail: 'Send either "value" or "sha256", not both.' })
    return NONE
  }
  if (hash !== undefined) return parseSha256(hash, faults)
  if (value === undefined) {
    faults.push({ pointer: '#/value', code: 'required', detail: 'Send either "value" or "sha256".' })
    return NONE
  }
  const wrong = valueFault(instance, value)
  if (wrong) faults.push({ pointer: '#/value', ...wrong })
  return wrong ? NONE : sha256(value)
}

function valueFault({ keyPrefix }: Instance, value: string): Omit<Fault, 'pointer'> | null {
  if (!IMPORTED_VALUE.test(value))
    return { code: 'invalid_format', detail: 'This must be 8 to 512 visible ASCII characters, without spaces.' }
  if (value.startsWith(`${keyPrefix}_`))
    return {
      code: 'invalid_format',
      detail: `This begins with ${keyPrefix}_, as the keys of this service do, so it would never be looked up. Create a new key instead.`,
    }
  if (JWT.test(value)) return { code: 'invalid_format', detail: 'This has the form of a JWT, which is not an API key.' }
  return null
}

const SHA256_BYTES = 32

function parseSha256(text: string, faults: Fault[]): Buffer {
  const isHex = /^[0-9a-f]{64}$/i.test(text)
  const url = text.replace(/=$/, '').replaceAll('+', '-').replaceAll('/', '_')
  const digest = Buffer.from(url, isHex ? 'hex' : 'base64url')
  // Node skips what it cannot read: only what it would write itself was read whole.
  if (digest.length === SHA256_BYTES && (isHex || digest.toString('base64url') === url)) return digest
  faults.push({
    pointer: '#/sha256',
    code: 'invalid_format',
    detail: 'This must be 32 bytes in hex, base64 or base64url.',
    example: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
  })
  return NONE
}
