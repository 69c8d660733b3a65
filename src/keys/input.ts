// Checks of a key's settings that a schema cannot express: the permissions exist, the expiry lies in the future, the
// ranges of the allow-list can be read, and the metadata can be given back exactly as it came. Every other setting is
// taken as the schema let it pass.

import { isIp, parseRange } from '../auth/ip.ts'
import { DAY, fromNow, now } from '../core/clock.ts'
import { type Fault, failInput } from '../core/errors.ts'
import { parsePermissions } from '../core/grant.ts'
import { KEY_TYPE_NAMES } from '../core/key-types.ts'
import type { Instance } from '../instance.ts'
import { parseExternalId } from '../schema/external-id.ts'
import { parseDateTime } from '../schema/fields.ts'
import { pointerToken } from '../schema/validate.ts'
import { type AskedPatch, type KeyRow, type KeySpec, showSettings } from './columns.ts'
import {
  type CreditChange,
  type Credits,
  type Introspection,
  type KeyChanges,
  type NamedRateLimit,
  type NewKey,
  NULLABLE_SETTINGS,
  type Verification,
} from './schema.ts'

const MAX_LIFE_MS = 3653 * DAY
const METADATA_BYTES = 16 * 1024
const METADATA_MEMBERS = 50
const METADATA_LEVELS = 8
const DESCRIPTION_CHARACTERS = 500

export function parseKeyChanges(body: KeyChanges, instance: Instance, faults: Fault[]): AskedPatch {
  const { permissions, metadata, expiresAt, ipAllowlist, rateLimits, owner, credits, ...plain } = body
  const patch: AskedPatch = plain
  if (permissions !== undefined) patch.permissions = parsePermissions(instance.permissions, permissions, faults)
  if (metadata !== undefined) patch.metadata = parseMetadata(metadata, faults)
  if (expiresAt !== undefined) patch.expiresAt = parseExpiry(expiresAt, faults)
  if (ipAllowlist !== undefined) patch.ipAllowlist = parseAllowlist(ipAllowlist, faults)
  if (rateLimits !== undefined) patch.rateLimits = parseRateLimits(rateLimits, faults)
  if (owner !== undefined) patch.owner = parseOwner(owner, faults)
  if (credits !== undefined) patch.credits = parseCredits(credits, faults)
  return patch
}

export function parseVerification(body: Partial<Verification>, _: Instance, faults: Fault[]): Verification {
  checkIp(body.ip, faults)
  checkNames(body.limits ?? [], '#/limits', faults)
  return { ...body, key: body.key ?? '' }
}

export function parseIntrospection(body: Partial<Introspection>, _: Instance, faults: Fault[]): Introspection {
  checkIp(body.ip, faults)
  const types = wordsOf(body.types)
  if (types && (types.length === 0 || types.some((type) => !KEY_TYPE_NAMES.includes(type as never))))
    faults.push({
      pointer: '#/types',
      code: 'unknown_value',
      detail: `These must be one or more of ${KEY_TYPE_NAMES.join(', ')}, separated by spaces.`,
      example: 'PROD',
    })
  return { ...body, token: body.token ?? '' }
}

/** A form's list: words separated by spaces. */
export function wordsOf(text: string | undefined): string[] | undefined {
  return text?.split(' ').filter(Boolean)
}

type StoresAsked = { storeId?: string | undefined; anyStore?: boolean | undefined }
const NAMES_IN_JSON = { storeId: 'storeId', anyStore: 'anyStore' }
export const NAMES_IN_FORM = { storeId: 'store_id', anyStore: 'any_store' }

/**
 * The stores whose keys a question accepts, null for every store, out of those its service may ask about. A service of
 * several stores has to say which it means: a key that somebody made in a store of their own would be valid too.
 */
export function parseStores(
  allowed: readonly string[] | null,
  { storeId, anyStore }: StoresAsked,
  faults: Fault[],
  names = NAMES_IN_JSON,
): readonly string[] | null {
  if (storeId !== undefined && anyStore !== undefined)
    faults.push({
      pointer: `#/${names.anyStore}`,
      code: 'contradiction',
      detail: `Send either "${names.storeId}" or "${names.anyStore}", not both.`,
    })
  if (storeId !== undefined) return allowed === null || allowed.includes(storeId) ? [storeId] : []
  if (anyStore !== true && allowed?.length !== 1)
    faults.push({
      pointer: `#/${names.storeId}`,
      code: 'required',
      detail: `Your service token is for ${allowed === null ? 'all' : 'several'} stores. Name the store the key must belong to, or send "${names.anyStore}" if you really accept keys of any of them.`,
      example: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd',
    })
  return allowed
}

function checkIp(ip: string | undefined, faults: Fault[]): void {
  if (ip !== undefined && !isIp(ip))
    faults.push({
      pointer: '#/ip',
      code: 'invalid_ip',
      detail: 'This is not an IPv4 or IPv6 address.',
      example: '203.0.113.7',
    })
}

/** A key without any of the settings that it may be without. */
export const UNSET = Object.fromEntries(NULLABLE_SETTINGS.map((name) => [name, null])) as Record<
  (typeof NULLABLE_SETTINGS)[number],
  null
>

export function parseNewKey(body: Partial<NewKey>, instance: Instance, faults: Fault[]): KeySpec {
  const spec: Partial<Record<keyof KeySpec, unknown>> = {
    name: body.name ?? '',
    type: body.type ?? 'DEV',
    permissions: parsePermissions(instance.permissions, body.permissions ?? [], faults),
    metadata: parseMetadata(body.metadata ?? {}, faults),
    expiresAt: parseExpiry(body.expiresAt ?? null, faults),
    ipAllowlist: parseAllowlist(body.ipAllowlist ?? null, faults),
    rateLimits: parseRateLimits(body.rateLimits ?? [], faults),
    owner: parseOwner(body.owner ?? null, faults),
    credits: parseCredits(body.credits ? { refill: null, ...body.credits } : null, faults),
  }
  for (const name of NULLABLE_SETTINGS) if (spec[name] === undefined) spec[name] = body[name] ?? null
  // All settings are there: those above, and the nullable ones.
  const complete = spec as KeySpec
  faults.push(...togetherFaults(complete))
  return complete
}

export function parseExpiry(text: string | null, faults: Fault[]): Date | null {
  const moment = text === null ? null : parseDateTime(text)
  if (moment === null) return null
  const pointer = '#/expiresAt'
  const example = fromNow(90 * DAY).toISOString()
  if (moment <= now()) faults.push({ pointer, code: 'not_in_future', detail: 'This must be in the future.', example })
  else if (moment > fromNow(MAX_LIFE_MS))
    faults.push({ pointer, code: 'too_far', detail: 'This can be at most 10 years in the future.', example })
  return moment
}

function parseAllowlist(given: string[] | null, faults: Fault[]): string[] | null {
  if (given === null) return null
  const ranges = given.map((text, i) => {
    const range = parseRange(text.trim())
    if (range === null)
      faults.push({
        pointer: `#/ipAllowlist/${i}`,
        code: 'invalid_cidr',
        detail: 'This is neither an IP address nor a CIDR range.',
        example: '203.0.113.0/24',
      })
    return range ?? text
  })
  return [...new Set(ranges)]
}

/** The owner in a path or a query. */
export function parseOwnerOf(text: string, pointer: string): string {
  const faults: Fault[] = []
  return parseExternalId(text, pointer, faults) ?? failInput(faults)
}

function parseOwner(owner: string | null, faults: Fault[]): string | null {
  return owner === null ? null : parseExternalId(owner, '#/owner', faults)
}

function parseRateLimits(given: NamedRateLimit[], faults: Fault[]): NamedRateLimit[] {
  checkNames(given, '#/rateLimits', faults)
  return given.map(({ shared = null, ...limit }) => ({ ...limit, shared }))
}

/** Each limit is named once. */
export function checkNames(limits: readonly { name: string }[], pointer: string, faults: Fault[]): void {
  const names = limits.map(({ name }) => name)
  names.forEach((name, i) => {
    if (names.indexOf(name) < i)
      faults.push({
        pointer: `${pointer}/${i}/name`,
        code: 'duplicate',
        detail: 'Another limit has this name already.',
      })
  })
}

/** What was left out stays so. */
function parseCredits(given: Partial<Credits> | null, faults: Fault[]): Partial<Credits> | null {
  if (!given?.refill) return given
  const { amount, interval, dayOfMonth } = given.refill
  if (dayOfMonth !== undefined && interval !== 'MONTH')
    faults.push({
      pointer: '#/credits/refill/dayOfMonth',
      code: 'contradiction',
      detail: 'Only a refill each MONTH has a day of the month.',
    })
  return {
    ...given,
    refill: { amount, interval, ...(interval === 'MONTH' ? { dayOfMonth: dayOfMonth ?? 1 } : {}) },
  }
}

type Together = Pick<KeySpec, 'rateLimit' | 'rateLimits' | 'owner'>

/** What settings must fit each other, also when only one of them is changed. */
function togetherFaults({ rateLimit, rateLimits, owner }: Together): Fault[] {
  const faults: Fault[] = []
  if (rateLimit !== null && rateLimits.some(({ name }) => name === 'default'))
    faults.push({
      pointer: '#/rateLimits',
      code: 'contradiction',
      detail: '"rateLimit" is the limit called "default": a key has either that or a named one.',
    })
  if (owner === null && rateLimits.some(({ shared }) => shared === 'owner'))
    faults.push({
      pointer: '#/owner',
      code: 'required',
      detail: 'A limit that is shared by owner needs an owner.',
      example: 'customer-42',
    })
  return faults
}

/** Of a key as it would be after a change. */
export function checkTogether(row: KeyRow): void {
  const { rateLimit, rateLimits, owner } = showSettings(row, ['rateLimit', 'rateLimits', 'owner'])
  const faults = togetherFaults({ rateLimit, rateLimits, owner })
  if (faults.length > 0) failInput(faults)
}

export function parseCreditChange(change: CreditChange, _: Instance, faults: Fault[]): CreditChange {
  if ((change.add === undefined) === (change.set === undefined) && faults.length === 0)
    faults.push({
      pointer: '#/add',
      code: change.add === undefined ? 'required' : 'contradiction',
      detail: 'Send either "add" or "set".',
      example: '1000',
    })
  return change
}

function parseMetadata(metadata: Record<string, unknown>, faults: Fault[]): Record<string, unknown> {
  const report = (pointer: string, code: string, detail: string) => faults.push({ pointer, code, detail })
  checkDescription(metadata.description, report)
  if (Object.keys(metadata).length > METADATA_MEMBERS)
    report('#/metadata', 'too_many_members', `This may have at most ${METADATA_MEMBERS} members.`)
  // Its values are looked at only when there is a bounded number of them.
  if (Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES) {
    report('#/metadata', 'too_long', 'This may have at most 16 KiB as JSON.')
    return metadata
  }
  const levels = checkValue(metadata, '#/metadata', report)
  if (levels > METADATA_LEVELS) report('#/metadata', 'too_deep', `This may be at most ${METADATA_LEVELS} levels deep.`)
  return metadata
}

type ReportFault = (pointer: string, code: string, detail: string) => void

function checkDescription(description: unknown, report: ReportFault): void {
  const pointer = '#/metadata/description'
  if (description === undefined) return
  if (typeof description !== 'string') report(pointer, 'invalid_type', 'This must be a string.')
  else if ([...description].length > DESCRIPTION_CHARACTERS)
    report(pointer, 'too_long', `This may have at most ${DESCRIPTION_CHARACTERS} characters.`)
}

/**
 * How deep it goes. A whole number too large to be exact is refused, not rounded; fractions are as exact as JSON's readers
 * are.
 */
function checkValue(value: unknown, pointer: string, report: ReportFault): number {
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    report(pointer, 'unsafe_number', 'This number is too large to be kept exactly. Send it as a string.')
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.entries(value).map(([name, member]) =>
    checkValue(member, `${pointer}/${pointerToken(name)}`, report),
  )
  return 1 + Math.max(0, ...inner)
}
