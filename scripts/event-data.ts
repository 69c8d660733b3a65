// The types of the members of an event's `data`, as events/schema.ts names them. A test holds every event against them.

const BY_NAME: Record<string, string> = {
  action: 'string',
  changed: 'string[]',
  country: 'string',
  credits: `Key['credits']`,
  days: 'number',
  description: 'string | null',
  expiresAt: 'string | null',
  failingSince: 'string',
  from: 'Record<string, unknown>',
  gracePeriodSeconds: 'number',
  host: 'string',
  imported: 'boolean',
  invitation: 'string',
  ipAllowlist: 'string[] | null',
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
  rateLimit: `Key['rateLimit']`,
  rateLimits: `Key['rateLimits']`,
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
  return BY_EVENT[`${event} ${member}`] ?? BY_NAME[member] ?? 'unknown'
}
