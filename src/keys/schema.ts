// An API key, as it looks from outside. Only the answers that make a secret carry it, as `key`.

import type { Static } from 'typebox'
import type { KeyCaller } from '../core/caller.ts'
import { KEY_TOKEN_KINDS, KEY_TYPE_NAMES } from '../core/key-types.ts'
import { pageOf } from '../core/pagination.ts'
import type { Permission } from '../core/permissions.ts'
import { MAX_EXTERNAL_ID_LENGTH } from '../schema/external-id.ts'
import { DateTime, Line, Nullable, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { Made } from '../stores/schema.ts'

const closed = { additionalProperties: false }

export const KEY_STATUSES = ['ACTIVE', 'DISABLED', 'EXPIRED', 'REVOKED'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

/** The outcomes of verifying a key, in the order of the checks. */
const OUTCOMES = [
  'VALID',
  'NOT_FOUND',
  'REVOKED',
  'EXPIRED',
  'DISABLED',
  'FROZEN',
  'WRONG_TYPE',
  'FORBIDDEN_IP',
  'INSUFFICIENT_PERMISSIONS',
  'USAGE_EXCEEDED',
  'RATE_LIMITED',
] as const
export type Outcome = (typeof OUTCOMES)[number]

const RateLimit = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    windowSeconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  },
  { ...closed, description: 'How many verifications are allowed in a window.' },
)

const NamedRateLimit = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z][a-z0-9-]{0,31}$',
      description: 'What the limit is called when a verification names it.',
      examples: ['exports'],
    }),
    ...RateLimit.properties,
    shared: Type.Optional(
      Nullable(
        OneOf(['owner'], {
          description:
            '`owner`: all keys of the same `owner` in the store that have a limit of this name and window are counted together, each against its own `limit`. Left out or `null`: the key counts for itself.',
        }),
      ),
    ),
  },
  closed,
)

const INTERVALS = ['HOUR', 'DAY', 'MONTH'] as const
export const MAX_CREDITS = 1_000_000_000_000

const Refill = Type.Object(
  {
    amount: Type.Integer({
      minimum: 1,
      maximum: MAX_CREDITS,
      description: 'What `remaining` is set to. A larger rest is kept.',
    }),
    interval: OneOf(INTERVALS, {
      description: 'How often: at the beginning of every hour, day or month, in UTC.',
    }),
    dayOfMonth: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31,
        default: 1,
        description: 'With `MONTH`: on which day. A month without that day refills on its last.',
      }),
    ),
  },
  closed,
)

const Credits = Type.Object(
  {
    remaining: Type.Integer({
      minimum: 0,
      maximum: MAX_CREDITS,
      description: 'What verifications can still spend.',
    }),
    refill: Type.Optional(Nullable({ ...Refill, description: '`null`: credits are added by hand only.' })),
  },
  { ...closed, description: 'What verifications of the key spend. `null`: it has no credits and needs none.' },
)

/** The members that a manager sets; their columns stand in columns.ts. */
const settings = {
  name: Line(1, 100, { kind: 'exact', examples: ['Checkout'] }),
  type: OneOf(KEY_TYPE_NAMES, {
    description: `Stands in the key itself: ${KEY_TOKEN_KINDS.map((kind) => `\`skp_${kind}_…\``).join(', ')}.`,
  }),
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
  expiresAt: Nullable(DateTime()),
  ipAllowlist: Nullable(
    Type.Array(Type.String({ maxLength: 50 }), {
      minItems: 1,
      maxItems: 50,
      description: 'Addresses and CIDRs, IPv4 and IPv6, from which the key may be used. `null`: from anywhere.',
      examples: [['203.0.113.0/24', '2001:db8::/32']],
    }),
  ),
  rateLimit: Nullable(RateLimit),
  owner: Nullable(
    Type.String({
      maxLength: 4 * MAX_EXTERNAL_ID_LENGTH,
      description:
        'The id that your own system has for whomever the key is for, at most 255 characters. It is part of the verdict, and never of an event.',
      examples: ['customer-42'],
    }),
  ),
  credits: Nullable(Credits),
}
/** Never null: a key without named limits has an empty list. */
const rateLimits = Type.Array(NamedRateLimit, {
  maxItems: 5,
  description: 'Rate limits beside `rateLimit`. A verification spends all of them, or those that it names.',
})

export const Key = Type.Object(
  {
    id: Type.String({ examples: ['key_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    storeId: Type.String(),
    ...settings,
    rateLimits,
    start: Type.String({
      description: 'The first characters of the key, to tell keys apart.',
      examples: ['skp_prod_4fQx'],
    }),
    status: OneOf(KEY_STATUSES),
    enabled: Type.Boolean(),
    createdAt: DateTime(),
    createdBy: Type.Object({ kind: OneOf(['user', 'key', 'service', 'system']), id: Type.String() }, closed),
    updatedAt: DateTime(),
    lastUsedAt: Nullable(DateTime()),
    revokedAt: Nullable(DateTime()),
    revocationReason: Nullable(Type.String()),
    imported: Type.Boolean({
      description: 'The key was made elsewhere and imported. It is for verifying only, until it is rotated.',
    }),
    rotation: Nullable(
      Type.Object({ previousExpiresAt: DateTime(), previousLastUsedAt: Nullable(DateTime()) }, closed),
    ),
  },
  { title: 'Key', ...closed },
)
export type Key = Static<typeof Key>
export type NamedRateLimit = Static<typeof NamedRateLimit>
export type Credits = Static<typeof Credits>
export const Keys = pageOf(Key, 'Keys')

export const KeyWithSecret = Type.Object(
  {
    ...Key.properties,
    key: Type.String({ description: 'The full key. Shown in this answer, and never again.', examples: ['skp_prod_…'] }),
  },
  { title: 'KeyWithSecret', ...closed },
)

const { name, type, permissions, metadata, ...nullable } = settings
/** The settings that a key may be without: null, unless something else is said. */
export const NULLABLE_SETTINGS = Object.keys(nullable) as (keyof typeof nullable)[]

export const NewKey = Type.Object(
  {
    name,
    type,
    permissions,
    metadata: Type.Optional(metadata),
    rateLimits: Type.Optional(rateLimits),
    ...Type.Partial(Type.Object(nullable)).properties,
  },
  { title: 'NewKey', ...closed },
)
export type NewKey = Static<typeof NewKey>

export const KeyChanges = Type.Partial(
  Type.Object({ name, permissions, metadata, rateLimits, enabled: Type.Boolean(), ...nullable }),
  { title: 'KeyChanges', ...closed },
)
export type KeyChanges = Static<typeof KeyChanges>

export const CreditChange = Type.Object(
  {
    add: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CREDITS, description: 'Adds this many.' })),
    set: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_CREDITS, description: 'Leaves exactly this many.' })),
  },
  { title: 'CreditChange', ...closed, description: 'Either `add` or `set`.' },
)
export type CreditChange = Static<typeof CreditChange>

export const Rotation = Type.Object(
  {
    gracePeriodSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_592_000,
        default: 0,
        description: 'How long the old secret still works: 30 days at most, and never longer than the key itself.',
      }),
    ),
  },
  { title: 'Rotation', ...closed },
)

export const RevokedKey = Type.Object(
  {
    ...Key.properties,
    effectiveBy: DateTime({
      description: 'From this moment on no node accepts the key, not even one that is cut off from the others.',
    }),
    made: Made,
  },
  { title: 'RevokedKey', ...closed },
)

export const AffectedKeyCount = Type.Object(
  { affected: Type.Integer({ description: 'How many live keys this changed.' }) },
  { title: 'Affected', ...closed },
)

// ---- verifying ------------------------------------------------------------------------------------------------------

const question = {
  key: Type.String({ minLength: 1, description: 'The full key that somebody presented to you.' }),
  permissions: Type.Optional(
    Type.Array(Type.String({ maxLength: 63 }), {
      maxItems: 100,
      description: 'What the caller wants to do. Without it only the key itself is looked at.',
      examples: [['READ']],
    }),
  ),
  storeId: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'The store it must belong to: a key of any other is `NOT_FOUND`. Required, unless your service token is for one store only.',
      examples: ['store_01k9wz3v5e8tvs8v4m8m3v5yqd'],
    }),
  ),
  ip: Type.Optional(
    Type.String({
      maxLength: 50,
      description: 'Where the caller comes from. A key with an allow-list is `FORBIDDEN_IP` without it.',
      examples: ['203.0.113.7'],
    }),
  ),
}

const cost = (description: string) => Type.Integer({ minimum: 0, maximum: 1_000_000, default: 1, description })

export const Verification = Type.Object(
  {
    ...question,
    anyPermissions: Type.Optional(
      Type.Array(Type.String({ maxLength: 63 }), {
        minItems: 1,
        maxItems: 100,
        description: 'At least one of these, beside all of `permissions`.',
        examples: [['MANAGE_ORDERS', 'MANAGE_CUSTOMERS']],
      }),
    ),
    cost: Type.Optional(cost('How many credits the caller’s request costs, if the key has credits.')),
    limits: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({
              maxLength: 32,
              description:
                'A name in the key’s `rateLimits`; `default` is its `rateLimit`. A key without it is not limited by it.',
              examples: ['exports'],
            }),
            cost: Type.Optional(cost('How much of the limit this request takes.')),
          },
          closed,
        ),
        {
          maxItems: 6,
          description: 'The rate limits that this request spends. Left out: all that the key has, at a cost of 1 each.',
        },
      ),
    ),
    anyStore: Type.Optional(
      Type.Boolean({
        description:
          'Instead of `storeId`: accept a key of any store that your service token may ask about. Anyone can have a store of their own on an open service, with keys that hold every permission there.',
      }),
    ),
    types: Type.Optional(
      Type.Array(OneOf(KEY_TYPE_NAMES), {
        minItems: 1,
        uniqueItems: true,
        description: 'The types you accept. A key of another type is `WRONG_TYPE`.',
        examples: [['PROD']],
      }),
    ),
    explain: Type.Optional(
      Type.Boolean({ description: 'Adds `checks`, every one in words. Nothing is spent or counted.' }),
    ),
  },
  { title: 'Verification', ...closed },
)
export type Verification = Static<typeof Verification>

/** The settings that verifying shows, null when there is no such key. */
const verifiedSettings = {
  name: Nullable(Type.String()),
  type: Nullable(OneOf(KEY_TYPE_NAMES)),
  permissions: Nullable(Type.Array(Type.String())),
  metadata: Type.Unsafe<Record<string, unknown> | null>({
    type: ['object', 'null'],
    additionalProperties: true,
  }),
  expiresAt: Nullable(DateTime()),
  owner: Nullable(Type.String({ description: 'The id that your own system has for whomever the key is for.' })),
}
export const VERIFIED_SETTINGS = Object.keys(verifiedSettings) as (keyof typeof verifiedSettings)[]

export const Verdict = Type.Object(
  {
    valid: Type.Boolean(),
    code: OneOf(OUTCOMES),
    keyId: Nullable(Type.String()),
    storeId: Nullable(Type.String()),
    ...verifiedSettings,
    rateLimit: Type.Optional(
      Type.Object(
        { limit: Type.Integer(), remaining: Type.Integer(), resetSeconds: Type.Integer() },
        { ...closed, description: 'Of a key that has a rate limit: what is left in this window.' },
      ),
    ),
    credits: Type.Optional(
      Type.Object(
        {
          remaining: Type.Integer({ description: 'What is left after this verification.' }),
          refillsAt: Nullable(DateTime({ description: 'The next refill. `null`: there is none.' })),
        },
        { ...closed, description: 'Of a key that has credits.' },
      ),
    ),
    limits: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({ description: 'The name of the limit.' }),
            limit: Type.Integer({ description: 'How much a window allows.' }),
            remaining: Type.Integer({ description: 'What is left in this window.' }),
            resetSeconds: Type.Integer({ description: 'When the window ends, in seconds from now.' }),
            exceeded: Type.Boolean({ description: 'Whether it was this one that had no room for the request.' }),
          },
          closed,
        ),
        { description: 'Of a key that has named limits, or when you named some: each that was looked at.' },
      ),
    ),
    unknownPermissions: Type.Optional(
      Type.Array(Type.String(), {
        description: 'What you asked for and no key can hold, because there is no such permission: most likely a typo.',
      }),
    ),
    checks: Type.Optional(
      Type.Array(Type.Object({ code: OneOf(OUTCOMES), ok: Type.Boolean(), detail: Type.String() }, closed)),
    ),
  },
  { title: 'Verdict', ...closed },
)
export type Verdict = Static<typeof Verdict>

/** A verdict as a node keeps it. The metadata stays JSON text: 16 KiB of `{}` would be 360 KB once parsed. */
export type KeptVerdict = Omit<Verdict, 'metadata'> & { metadata: string | null }

export function showVerdict(verdict: KeptVerdict): Verdict {
  return { ...verdict, metadata: verdict.metadata === null ? null : JSON.parse(verdict.metadata) }
}

export const VERIFY_PATH = '/v1/keys/verify'

export type Question = Pick<
  Verification,
  'key' | 'permissions' | 'anyPermissions' | 'types' | 'ip' | 'cost' | 'limits'
> & {
  /** The stores whose keys are accepted. Null: every store. */
  stores: readonly string[] | null
  /** The service that asks. */
  serviceId: string
}

/** An Idempotency-Key: claimed before anything is spent, and the verdict stored with what is spent. */
export type SpendOnce<Tx> = { claim(tx: Tx): Promise<void>; store(tx: Tx, verdict: Verdict): Promise<void> }

/** Verifies keys: see verify.ts. */
export type Verifier<Tx> = {
  /** With an Idempotency-Key, what the key spends is spent once, and the response is stored with it. */
  verify(question: Question, once?: SpendOnce<Tx> | null): Promise<KeptVerdict>
  /** The same, if memory alone can answer; null, with nothing counted, when it cannot. */
  verifyNow(question: Question): KeptVerdict | null
  /** The same, with the result of every check, and nothing spent or counted. */
  explain(question: Question): Promise<KeptVerdict>
  /** Counts a request to this API that was made with the key itself. */
  countOwnUse(key: KeyCaller, outcome: Outcome, permissions: readonly Permission[]): void
}

/** RFC 7662. What it does not name is ours: `ip`, `store_id`, `any_store` and `types`, as in `Verification`. */
export const Introspection = Type.Object(
  {
    token: Type.String({ minLength: 1, description: 'The full key.' }),
    token_type_hint: Type.Optional(Type.String()),
    ip: question.ip,
    store_id: question.storeId,
    any_store: Type.Optional(
      OneOf(['true', 'false'], {
        description: '`true`: accept a key of any store that your service token may ask about.',
      }),
    ),
    types: Type.Optional(
      Type.String({ description: 'The types you accept, separated by spaces.', examples: ['PROD'] }),
    ),
    scope: Type.Optional(Type.String({ description: 'Permissions it must hold, separated by spaces.' })),
  },
  { title: 'Introspection', additionalProperties: true },
)
export type Introspection = Static<typeof Introspection>

export const Introspected = Type.Object(
  {
    active: Type.Boolean(),
    scope: Type.Optional(Type.String({ description: 'Its permissions, separated by spaces.' })),
    client_id: Type.Optional(Type.String({ description: 'The id of the key.' })),
    sub: Type.Optional(Type.String({ description: 'The id of the key.' })),
    aud: Type.Optional(Type.String({ description: 'The id of the store.' })),
    token_type: Type.Optional(Type.String()),
    exp: Type.Optional(Type.Integer()),
  },
  { title: 'Introspected', ...closed },
)
export type Introspected = Static<typeof Introspected>

// ---- leaks ----------------------------------------------------------------------------------------------------------

export const LeakReport = Type.Object(
  { key: Type.String({ minLength: 1, description: 'The full key that became known.' }) },
  { title: 'LeakReport', ...closed },
)
export const LeakAccepted = Type.Object(
  { accepted: Type.Boolean({ description: 'Always true, whether the key is ours or not.' }) },
  { title: 'LeakAccepted', ...closed },
)

/** The message of GitHub's secret scanning. It may have more members than these. */
export const GithubReports = Type.Array(
  Type.Object(
    {
      token: Type.String({ description: 'What looked like a key.' }),
      type: Type.Optional(Type.String({ description: 'The name under which the form of our keys is registered.' })),
      url: Type.Optional(Nullable(Type.String({ description: 'Where it was found. May be empty.' }))),
      source: Type.Optional(Nullable(Type.String({ description: 'In what: a commit, an issue, a package.' }))),
    },
    { additionalProperties: true },
  ),
  { title: 'GithubReports' },
)
export type GithubReports = Static<typeof GithubReports>

/** The answer that GitHub expects, in the form that does not repeat the key. */
export const GithubFeedback = Type.Array(
  Type.Object(
    {
      token_hash: Type.String({ description: 'SHA-256 of the token, in hex.' }),
      token_type: Type.Optional(Type.String()),
      label: OneOf(['true_positive', 'false_positive'], { description: 'Whether it is, or was, a key of ours.' }),
    },
    closed,
  ),
  { title: 'GithubFeedback' },
)
export type GithubFeedback = Static<typeof GithubFeedback>

// ---- watching -------------------------------------------------------------------------------------------------------

const usageSpan = {
  from: DateTime({ description: 'The beginning of the first hour or day.' }),
  to: DateTime({ description: 'The end. Not included.' }),
  interval: OneOf(['hour', 'day'], { description: 'What is counted together. Both in UTC.' }),
}
const counts = Type.Unsafe<Record<string, number>>({
  type: 'object',
  additionalProperties: { type: 'integer' },
  description: 'How often, by the `code` of the verdict.',
  examples: [{ VALID: 12 }],
})
const usageByTime = Type.Array(
  Type.Object({ at: DateTime({ description: 'The beginning of the hour or day.' }), counts }, closed),
  { description: 'Oldest first. An hour or a day without use is left out.' },
)
const secretUsage = Type.Object(
  {
    counts,
    lastUsedAt: Nullable(DateTime({ description: 'When it was last accepted. `null`: never.' })),
    sources: Type.Array(
      Type.Object(
        {
          ip: Nullable(
            Type.String({ description: 'The address of whoever presented it. `null`: the service did not say.' }),
          ),
          service: Nullable(
            Type.String({ description: 'The id of the service token that verified it. `null`: it was used here.' }),
          ),
          lastUsedAt: DateTime({ description: 'When it was last accepted from there.' }),
        },
        closed,
      ),
      { description: 'Where it was accepted from in the last 90 days: the newest 20.' },
    ),
  },
  closed,
)

export const KeyUsage = Type.Object(
  {
    ...usageSpan,
    data: usageByTime,
    bySecret: Type.Object(
      { current: secretUsage, previous: Nullable(secretUsage) },
      {
        ...closed,
        description:
          'The same counts by secret: the current one, and the one before the last rotation (`null`: it was never rotated). It shows who still uses the old one.',
      },
    ),
  },
  { title: 'KeyUsage', ...closed },
)

export const StoreUsage = Type.Object(
  {
    ...usageSpan,
    ...pageOf(
      Type.Object({ keyId: Type.String({ description: 'The id of the key.' }), data: usageByTime }, closed),
      'StoreUsage',
    ).properties,
  },
  { title: 'StoreUsage', ...closed },
)

/** What a key is told about itself. */
export const OwnKey = Type.Object(
  {
    ...Key.properties,
    presented: OneOf(['current', 'previous'], {
      description:
        'Which of its secrets you presented: the previous one works only until its grace is over. `start` is that of the secret you presented.',
    }),
  },
  { title: 'OwnKey', ...closed },
)

export const UnusedPermissions = Type.Object(
  {
    since: DateTime(),
    unused: Type.Array(Type.String(), { description: 'What the key holds and did not need since then.' }),
    exercised: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string', format: 'date-time' },
      description: 'What it needed, and when last.',
      examples: [{ READ: '2027-01-31T12:00:00.000Z' }],
    }),
  },
  { title: 'Advice', ...closed },
)

export const Grantable = Type.Object(
  { permissions: Type.Array(Type.String()), types: Type.Array(OneOf(KEY_TYPE_NAMES)) },
  { title: 'Grantable', ...closed },
)
