// What no schema can say about a new key: its permissions exist, its end lies ahead, its ranges are ranges, and its
// metadata can be given back exactly as it came.

import { isAddress, readRange } from '../access/ip.ts'
import { readMoment, step } from '../check.ts'
import { DAY, later, now } from '../clock.ts'
import type { Fault } from '../errors.ts'
import { readPermissions } from '../grant.ts'
import type { Here } from '../here.ts'
import type { Permission } from '../permissions.ts'
import type { Introspection, KeyChanges, KeyType, NewKey, Verification } from './schema.ts'

const LONGEST_LIFE_MS = 3653 * DAY
const METADATA_BYTES = 16 * 1024
const METADATA_MEMBERS = 50
const METADATA_LEVELS = 8
const DESCRIPTION_CHARACTERS = 500

export type WantedKey = {
  name: string
  type: KeyType
  permissions: Permission[]
  metadata: Record<string, unknown>
  expiresAt: Date | null
  ipAllowlist: string[] | null
  rateLimit: { limit: number; windowSeconds: number } | null
}

/** What is absent stays as it is; null clears. */
export type KeyWish = Partial<Omit<WantedKey, 'type'>> & { enabled?: boolean }

export function readKeyChanges(body: KeyChanges, here: Here, faults: Fault[]): KeyWish {
  const { name, enabled, permissions, metadata, expiresAt, ipAllowlist, rateLimit } = body
  return {
    ...(name === undefined ? {} : { name }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(permissions === undefined ? {} : { permissions: readPermissions(here.permissions, permissions, faults) }),
    ...(metadata === undefined ? {} : { metadata: readMetadata(metadata, faults) }),
    ...(expiresAt === undefined ? {} : { expiresAt: readExpiry(expiresAt, faults) }),
    ...(ipAllowlist === undefined ? {} : { ipAllowlist: readAllowlist(ipAllowlist, faults) }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
  }
}

export function readVerification(body: Partial<Verification>, _here: Here, faults: Fault[]): Verification {
  checkAddress(body.ip, faults)
  return { ...body, key: body.key ?? '' }
}

export function readIntrospection(body: Partial<Introspection>, _here: Here, faults: Fault[]): Introspection {
  checkAddress(body.ip, faults)
  return { ...body, token: body.token ?? '' }
}

function checkAddress(ip: string | undefined, faults: Fault[]): void {
  if (ip !== undefined && !isAddress(ip))
    faults.push({
      pointer: '#/ip',
      code: 'invalid_ip',
      detail: 'This is not an IPv4 or IPv6 address.',
      example: '203.0.113.7',
    })
}

export function readNewKey(body: Partial<NewKey>, here: Here, faults: Fault[]): WantedKey {
  return {
    name: body.name ?? '',
    type: body.type ?? 'DEV',
    permissions: readPermissions(here.permissions, body.permissions ?? [], faults),
    metadata: readMetadata(body.metadata ?? {}, faults),
    expiresAt: readExpiry(body.expiresAt ?? null, faults),
    ipAllowlist: readAllowlist(body.ipAllowlist ?? null, faults),
    rateLimit: body.rateLimit ?? null,
  }
}

function readExpiry(text: string | null, faults: Fault[]): Date | null {
  const moment = text === null ? null : readMoment(text)
  if (moment === null) return null
  const pointer = '#/expiresAt'
  const example = later(90 * DAY).toISOString()
  if (moment <= now()) faults.push({ pointer, code: 'not_in_future', detail: 'This must lie in the future.', example })
  else if (moment > later(LONGEST_LIFE_MS))
    faults.push({ pointer, code: 'too_far', detail: 'This may lie at most 10 years ahead.', example })
  return moment
}

function readAllowlist(given: string[] | null, faults: Fault[]): string[] | null {
  if (given === null) return null
  const ranges = given.map((text, i) => {
    const range = readRange(text.trim())
    if (range === null)
      faults.push({
        pointer: `#/ipAllowlist/${i}`,
        code: 'invalid_cidr',
        detail: 'This is neither an address nor a CIDR.',
        example: '203.0.113.0/24',
      })
    return range ?? text
  })
  return [...new Set(ranges)]
}

function readMetadata(metadata: Record<string, unknown>, faults: Fault[]): Record<string, unknown> {
  const found = (pointer: string, code: string, detail: string) => faults.push({ pointer, code, detail })
  if (Object.keys(metadata).length > METADATA_MEMBERS)
    found('#/metadata', 'too_many_members', `This may have at most ${METADATA_MEMBERS} members.`)
  if (Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES)
    found('#/metadata', 'too_long', 'This may have at most 16 KiB as JSON.')
  checkDescription(metadata.description, found)
  const levels = checkValue(metadata, '#/metadata', found)
  if (levels > METADATA_LEVELS) found('#/metadata', 'too_deep', `This may be at most ${METADATA_LEVELS} levels deep.`)
  return metadata
}

type Found = (pointer: string, code: string, detail: string) => void

function checkDescription(description: unknown, found: Found): void {
  const pointer = '#/metadata/description'
  if (description === undefined) return
  if (typeof description !== 'string') found(pointer, 'invalid_type', 'This must be a string.')
  else if ([...description].length > DESCRIPTION_CHARACTERS)
    found(pointer, 'too_long', `This may have at most ${DESCRIPTION_CHARACTERS} characters.`)
}

/** How deep it goes. A whole number too large to be exact is refused, not rounded; fractions are as exact as JSON's readers are. */
function checkValue(value: unknown, pointer: string, found: Found): number {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    found(pointer, 'unsafe_number', 'This number is too large to be kept exactly. Send it as a string.')
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.entries(value).map(([name, member]) => checkValue(member, `${pointer}/${step(name)}`, found))
  return 1 + Math.max(0, ...inner)
}
