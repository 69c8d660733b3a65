// An API key, as it looks from outside. Only the answers that make a secret carry it, as `key`.

import type { Static } from 'typebox'
import { Line, Moment, Nullable, Words } from '../check.ts'
import { pageOf } from '../page.ts'
import type { Permission } from '../permissions.ts'
import { Type } from '../type.ts'

const closed = { additionalProperties: false }

export const KEY_TYPES = ['PROD', 'TEST', 'DEV'] as const
export type KeyType = (typeof KEY_TYPES)[number]
export const KEY_STATUSES = ['ACTIVE', 'DISABLED', 'EXPIRED', 'REVOKED'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

const RateLimit = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    windowSeconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  },
  { ...closed, description: 'How many verifications are allowed in a window.' },
)

/** What a caller may say about a key. */
const given = {
  name: Line(1, 100, { examples: ['Checkout'] }),
  type: Words(KEY_TYPES, { description: 'Stands in the key itself: `skp_prod_…`, `skp_test_…`, `skp_dev_…`.' }),
  permissions: Type.Array(Type.String({ maxLength: 63 }), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'What the key may do in its store. Only what you hold yourself.',
    examples: [['READ', 'WRITE']],
  }),
  metadata: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      'Anything of yours: at most 16 KiB as JSON, 50 members, 8 levels. `description`, if there is one, is a string of at most 500 characters.',
    examples: [{ description: 'Used by the checkout page' }],
  }),
  expiresAt: Nullable(Moment),
  ipAllowlist: Nullable(
    Type.Array(Type.String({ maxLength: 50 }), {
      minItems: 1,
      maxItems: 50,
      description: 'Addresses and CIDRs, IPv4 and IPv6, from which the key may be used. `null`: from anywhere.',
      examples: [['203.0.113.0/24', '2001:db8::/32']],
    }),
  ),
  rateLimit: Nullable(RateLimit),
}

export const Key = Type.Object(
  {
    id: Type.String({ examples: ['key_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    storeId: Type.String(),
    ...given,
    start: Type.String({
      description: 'The first characters of the key, to tell keys apart.',
      examples: ['skp_prod_4fQx'],
    }),
    status: Words(KEY_STATUSES),
    enabled: Type.Boolean(),
    createdAt: Moment,
    createdBy: Type.Object({ kind: Words(['user', 'key', 'service', 'system']), id: Type.String() }, closed),
    updatedAt: Moment,
    lastUsedAt: Nullable(Moment),
    revokedAt: Nullable(Moment),
    revocationReason: Nullable(Type.String()),
    rotation: Nullable(Type.Object({ previousExpiresAt: Moment, previousLastUsedAt: Nullable(Moment) }, closed)),
  },
  { title: 'Key', ...closed },
)
export type Key = Static<typeof Key>
export const Keys = pageOf(Key, 'Keys')

export const KeyWithSecret = Type.Object(
  {
    ...Key.properties,
    key: Type.String({ description: 'The full key. Shown in this answer, and never again.', examples: ['skp_prod_…'] }),
  },
  { title: 'KeyWithSecret', ...closed },
)

export const NewKey = Type.Object(
  {
    name: given.name,
    type: given.type,
    permissions: given.permissions,
    metadata: Type.Optional(given.metadata),
    expiresAt: Type.Optional(given.expiresAt),
    ipAllowlist: Type.Optional(given.ipAllowlist),
    rateLimit: Type.Optional(given.rateLimit),
  },
  { title: 'NewKey', ...closed },
)
export type NewKey = Static<typeof NewKey>

export const Grantable = Type.Object(
  { permissions: Type.Array(Type.String()), types: Type.Array(Words(KEY_TYPES)) },
  { title: 'Grantable', ...closed },
)

// ---- from rows to what is shown -------------------------------------------------------------------------------------

export type KeyRow = {
  id: string
  store_id: string
  name: string
  type: KeyType
  permissions: Permission[]
  metadata: Record<string, unknown>
  start: string
  enabled: boolean
  expires_at: Date | null
  ip_allowlist: string[] | null
  rate_limit: number | null
  rate_limit_window_seconds: number | null
  created_by_kind: Key['createdBy']['kind']
  created_by_id: string
  last_used_at: Date | null
  revoked_at: Date | null
  revocation_reason: string | null
  revision: number
  created_at: Date
  updated_at: Date
}

export function showKey(row: KeyRow, at: Date): Key {
  return {
    id: row.id,
    storeId: row.store_id,
    name: row.name,
    type: row.type,
    permissions: row.permissions,
    metadata: row.metadata,
    expiresAt: row.expires_at?.toISOString() ?? null,
    ipAllowlist: row.ip_allowlist,
    rateLimit:
      row.rate_limit === null || row.rate_limit_window_seconds === null
        ? null
        : { limit: row.rate_limit, windowSeconds: row.rate_limit_window_seconds },
    start: row.start,
    status: statusOf(row, at),
    enabled: row.enabled,
    createdAt: row.created_at.toISOString(),
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    updatedAt: row.updated_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
    revocationReason: row.revocation_reason,
    rotation: null,
  }
}

function statusOf(row: KeyRow, at: Date): KeyStatus {
  if (row.revoked_at) return 'REVOKED'
  if (row.expires_at && row.expires_at <= at) return 'EXPIRED'
  return row.enabled ? 'ACTIVE' : 'DISABLED'
}
