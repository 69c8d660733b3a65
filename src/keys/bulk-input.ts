// Checks of a change of many keys that its schema cannot express.

import { now } from '../core/clock.ts'
import { type Fault, failInput } from '../core/errors.ts'
import type { Instance } from '../instance.ts'
import { parseExternalId } from '../schema/external-id.ts'
import { parseDateTime } from '../schema/fields.ts'
import type { KeyFilter } from './filter.ts'
import { parseExpiry } from './input.ts'
import type { BulkChange } from './schema.ts'

/** One of `ids`, `owner` and `filter` is there. `expiresAt` is there when the action is `expire`. */
export type Bulk = {
  ids: string[] | null
  owner: string | null
  filter: KeyFilter | null
  action: BulkChange['action']
  reason: string | null
  expiresAt: Date | null
}

const WHICH = ['ids', 'owner', 'filter'] as const

export function parseBulk(body: Partial<BulkChange>, _: Instance, faults: Fault[]): Bulk {
  checkMembers(body, faults)
  const { ids = null, owner, filter, action = 'disable', reason = null, expiresAt = null } = body
  return {
    ids,
    owner: owner === undefined ? null : parseExternalId(owner, '#/owner', faults),
    filter: filter ? parseFilter(filter, faults) : null,
    action,
    reason,
    expiresAt: parseExpiry(expiresAt, faults),
  }
}

function checkMembers(body: Partial<BulkChange>, faults: Fault[]): void {
  const given = WHICH.filter((name) => body[name] !== undefined)
  if (given.length > 1)
    faults.push({
      pointer: `#/${given[1]}`,
      code: 'contradiction',
      detail: 'Send only one of "ids", "owner" and "filter".',
    })
  if (body.reason !== undefined && body.action !== undefined && body.action !== 'revoke')
    faults.push({ pointer: '#/reason', code: 'contradiction', detail: 'Only "revoke" takes a reason.' })
  if (body.expiresAt !== undefined && body.action !== undefined && body.action !== 'expire')
    faults.push({ pointer: '#/expiresAt', code: 'contradiction', detail: 'Only "expire" takes a time.' })
  if (body.expiresAt === undefined && body.action === 'expire')
    faults.push({
      pointer: '#/expiresAt',
      code: 'required',
      detail: 'Say when the keys expire.',
      example: '2027-01-31T12:00:00Z',
    })
}

/** Of a body without other faults: a member that has one is absent, and would seem to be left out. */
export function checkNamesKeys({ ids, owner, filter }: Bulk): void {
  if (ids === null && owner === null && filter === null)
    failInput([{ pointer: '#/ids', code: 'required', detail: 'Say which keys: send "ids", "owner" or "filter".' }])
}

function parseFilter(filter: NonNullable<BulkChange['filter']>, faults: Fault[]): KeyFilter {
  const { unusedSince, ...plain } = filter
  if (Object.keys(filter).length === 0)
    faults.push({ pointer: '#/filter', code: 'too_short', detail: 'This must have at least one condition.' })
  const since = unusedSince === undefined ? null : parseDateTime(unusedSince)
  if (since && since > now())
    faults.push({ pointer: '#/filter/unusedSince', code: 'not_in_past', detail: 'This must be in the past.' })
  return since ? { ...plain, unusedSince: since } : plain
}
