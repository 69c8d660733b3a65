// The types of the members of an event's `data`, as events/schema.ts names them: those of this table, or those that a key has.
// A test holds every event against them.

import { Key } from '../src/keys/schema.ts'

const BY_NAME: Record<string, string> = {
  action: 'string',
  changed: 'string[]',
  country: 'string',
  days: 'number',
  description: 'string | null',
  expiresAt: 'string | null',
  failingSince: 'string',
  from: 'Record<string, unknown>',
  gracePeriodSeconds: 'number',
  host: 'string',
  imported: 'boolean',
  invitation: 'string',
  issuer: 'string',
  keys: 'string',
  leakGraceSeconds: 'number | null',
  left: 'number',
  linked: 'boolean',
  metadataChanged: 'boolean',
  method: 'string',
  name: 'string',
  newDefault: 'string',
  ownerChanged: 'boolean',
  passkeyId: 'string',
  permissions: 'string[]',
  previousExpiresAt: 'string | null',
  reason: 'string | null',
  registration: 'string',
  role: 'string',
  source: 'string',
  storeIds: 'string[] | null',
  to: 'Record<string, unknown>',
  type: 'string',
  types: 'string[]',
  until: 'string',
  url: 'string',
  urlChanged: 'boolean',
  version: 'number',
}

const BY_EVENT: Record<string, string> = {
  'key.credits_changed from': 'number',
  'key.credits_changed to': 'number',
}

export function eventMemberType(event: string, member: string): string {
  return (
    BY_EVENT[`${event} ${member}`] ?? BY_NAME[member] ?? (member in Key.properties ? `Key['${member}']` : 'unknown')
  )
}
