// An API key, as it looks from outside. Only the answers that make a secret carry it, as `key`.

import type { Static, TSchema } from 'typebox'
import type { KeyCaller } from '../core/caller.ts'
import { KEY_TOKEN_KINDS, KEY_TYPE_NAMES } from '../core/key-types.ts'
import type { Moment } from '../core/moment.ts'
import { pageOf } from '../core/pagination.ts'
import type { Permission } from '../core/permissions.ts'
import type { StoredResponse } from '../core/stored-response.ts'
import { MAX_EXTERNAL_ID_LENGTH } from '../schema/external-id.ts'
import { ActorOf, CreatedAt, DateTime, Id, Line, Nullable, OneOf, StoreId, UpdatedAt } from '../schema/fields.ts'
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

const OUTCOME_TEXT =
  '`VALID`: let the caller in. `NOT_FOUND`: no such key, or not one of this store. `REVOKED`, `EXPIRED`, `DISABLED`: the state of the key. `FROZEN`: all keys of the store are frozen. `WRONG_TYPE`: not one of `types`. `FORBIDDEN_IP`: not on the allowlist. `INSUFFICIENT_PERMISSIONS`: a permission you asked for is missing. `USAGE_EXCEEDED`: the key has too few credits. `RATE_LIMITED`: try again after `rateLimit.resetSeconds`, or that of the limit in `limits`.'

const RateLimit = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'How many verifications a window allows.' }),
    windowSeconds: Type.Integer({ minimum: 1, maximum: 86_400, description: 'The length of a window, in seconds.' }),
  },
  {
    ...closed,
    description:
      'How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit.',
  },
)

const NamedRateLimit = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z][a-z0-9-]{0,31}$',
      description: 'The name of the limit, by which a verification refers to it.',
      examples: ['exports'],
    }),
    ...RateLimit.properties,
    shared: Type.Optional(
      Nullable(
        OneOf(['owner'], {
          description:
            '`owner`: all keys of the same `owner` in the store that have a limit of this name and window share one window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.',
        }),
      ),
    ),
  },
  { ...closed, description: 'A named rate limit.' },
)

const INTERVALS = ['HOUR', 'DAY', 'MONTH'] as const
export const MAX_CREDITS = 1_000_000_000_000

const Refill = Type.Object(
  {
    amount: Type.Integer({
      minimum: 1,
      maximum: MAX_CREDITS,
      description: 'What `remaining` is set to. If more than that is left, it stays.',
    }),
    interval: OneOf(INTERVALS, {
      description: 'How often: at the beginning of every hour, day or month, in UTC.',
    }),
    dayOfMonth: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31,
        // No `default`: the serializer would write it into the refill of an hour or a day.
        description: 'Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day.',
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
      description: 'How many credits are left.',
    }),
    refill: Type.Optional(Nullable({ ...Refill, description: 'Automatic refills. `null`: there are none.' })),
  },
  { ...closed, description: 'Credits that verifications of the key spend. `null`: the key needs none.' },
)

/** The members that a manager sets; their columns stand in columns.ts. */
const settings = {
  name: Line(1, 100, {
    kind: 'exact',
    description: 'A name that tells people what the key is for. It does not have to be unique.',
    examples: ['Checkout'],
  }),
  type: OneOf(KEY_TYPE_NAMES, {
    description: `The environment the key is for. It is part of the key: ${KEY_TOKEN_KINDS.map((kind) => `\`skp_${kind}_…\``).join(', ')}. Back ends can accept only certain types; otherwise all types work the same.`,
  }),
  permissions: Type.Array(Type.String({ maxLength: 63 }), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'What the key is allowed to do in its store. You can grant only permissions that you have yourself.',
    examples: [['READ', 'WRITE']],
  }),
  metadata: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      'Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must be a string of at most 500 characters.',
    examples: [{ description: 'Used by the checkout page' }],
  }),
  expiresAt: Nullable(DateTime({ description: 'When the key stops working. `null`: it does not expire.' })),
  ipAllowlist: Nullable(
    Type.Array(Type.String({ maxLength: 50 }), {
      minItems: 1,
      maxItems: 50,
      description: 'The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere.',
      examples: [['203.0.113.0/24', '2001:db8::/32']],
    }),
  ),
  rateLimit: Nullable(RateLimit),
  owner: Nullable(
    Type.String({
      maxLength: 4 * MAX_EXTERNAL_ID_LENGTH,
      description:
        'Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events never contain it.',
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
    id: Id('key', 'The id of the key. It is not secret.'),
    storeId: StoreId,
    ...settings,
    rateLimits,
    start: Type.String({
      description:
        'The first characters of the key, so that people can tell keys apart. Of an imported key at most 4, and none if its value was short or not sent.',
      examples: ['skp_prod_4fQx'],
    }),
    status: OneOf(KEY_STATUSES, {
      description:
        '`ACTIVE`: it works. `DISABLED`: `enabled` is `false`. `EXPIRED`: `expiresAt` has passed. `REVOKED`: it will never work again.',
    }),
    enabled: Type.Boolean({ description: 'Whether the key is enabled. A disabled key can be enabled again.' }),
    createdAt: CreatedAt,
    createdBy: ActorOf(['user', 'key', 'service', 'system'], 'Who created the key.'),
    updatedAt: UpdatedAt,
    lastUsedAt: Nullable(DateTime({ description: 'When the key was last accepted. `null`: never.' })),
    revokedAt: Nullable(DateTime({ description: 'When the key was revoked. `null`: it was not.' })),
    revocationReason: Nullable(Type.String({ description: 'Why the key was revoked, if a reason was given.' })),
    imported: Type.Boolean({
      description: 'Whether the key was created elsewhere and imported. Until it is rotated, it can only be verified.',
    }),
    rotation: Nullable(
      Type.Object(
        {
          previousExpiresAt: DateTime({ description: 'When the previous secret stops working.' }),
          previousLastUsedAt: Nullable(
            DateTime({ description: 'When the previous secret was last accepted. `null`: not since the rotation.' }),
          ),
        },
        {
          ...closed,
          description: 'Set while the secret from before the last rotation still works; otherwise `null`.',
        },
      ),
    ),
  },
  { title: 'Key', description: 'An API key, without its secret.', ...closed },
)
export type Key = Static<typeof Key>
export type NamedRateLimit = Static<typeof NamedRateLimit>
export type Credits = Static<typeof Credits>
export const Keys = pageOf(Key, 'Keys')

export const KeyWithSecret = Type.Object(
  {
    ...Key.properties,
    key: Type.String({ description: 'The full key. Store it now: it is not shown again.', examples: ['skp_prod_…'] }),
  },
  { title: 'KeyWithSecret', description: 'An API key with its secret, which is shown only once.', ...closed },
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
  { title: 'NewKey', description: 'An API key to create.', ...closed },
)
export type NewKey = Static<typeof NewKey>

export const KeyLine = Type.Object(
  {
    value: Type.Optional(
      Type.String({
        // As long as a value may be, and a little more: input.ts says what is wrong with it.
        maxLength: 600,
        description:
          'The key as its holder has it: 8 to 512 visible ASCII characters, not of our own form, nor that of a JWT. It is not stored.',
        examples: ['acme_live_8fK2mQ7xZ1pL'],
      }),
    ),
    sha256: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'Instead of `value`: the SHA-256 of it, in hex, base64 or base64url.',
        examples: ['n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg'],
      }),
    ),
    ...NewKey.properties,
    enabled: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether the key is switched on. A disabled key can be enabled again.',
      }),
    ),
  },
  { title: 'KeyLine', description: 'A key to import: `value` or `sha256`, and the settings of a new key.', ...closed },
)
export type KeyLine = Static<typeof KeyLine>

const keyImport = (line: TSchema) =>
  Type.Object(
    { keys: Type.Array(line, { maxItems: 1_000, description: 'The keys to import.' }) },
    { title: 'KeyImport', description: 'Keys to import, each of which succeeds or fails on its own.', ...closed },
  )
/** Lines are checked one by one, so that one that is not right fails alone. */
export const KeyImport = keyImport(Type.Unsafe<unknown>({}))
export const DocumentedKeyImport = keyImport(KeyLine)

const KeyImportResult = Type.Object(
  {
    index: Type.Integer({ description: 'The position of the key in the request, from 0.' }),
    id: Type.Optional(Id('key', 'The id of the key. Absent if it failed.')),
    status: OneOf(['created', 'exists', 'failed'], {
      description:
        '`created`: the key was imported. `exists`: the store has, or had, a key with this value; it was not changed, whatever its state. `failed`: nothing was written; see `errors`.',
    }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            pointer: Type.String({ description: 'The field, as a JSON pointer.', examples: ['#/keys/0/name'] }),
            code: Type.String({ description: 'A stable code for programs.', examples: ['required'] }),
            detail: Type.String({ description: 'An explanation in words.' }),
            example: Type.Optional(Type.String({ description: 'A valid value.', examples: ['READ'] })),
            suggestion: Type.Optional(
              Type.String({ description: 'What may have been meant: a field or a value.', examples: ['metadata'] }),
            ),
          },
          closed,
        ),
        {
          description:
            'Why it failed: at most 32 errors, with pointers into the request. After 5,000 errors of all lines together, one for each line.',
        },
      ),
    ),
  },
  { title: 'KeyImportResult', description: 'What became of one key.', ...closed },
)
export type KeyImportResult = Static<typeof KeyImportResult>
export const KeyImportResults = Type.Object(
  {
    results: Type.Array(KeyImportResult, { description: 'One result for each key in the request, in the same order.' }),
  },
  { title: 'KeyImportResults', description: 'What became of each key.', ...closed },
)

export const KeyChanges = Type.Partial(
  Type.Object({
    name,
    permissions,
    metadata,
    rateLimits,
    enabled: Key.properties.enabled,
    ...nullable,
    credits: Nullable(
      Type.Partial(Credits, {
        ...closed,
        description:
          'Credits that verifications of the key spend. What is left out, `remaining` or `refill`, stays as it is. `null`: the key needs none.',
      }),
    ),
  }),
  { title: 'KeyChanges', description: 'Changes to an API key. Fields that are left out keep their value.', ...closed },
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
        description: 'How long the old secret keeps working: 30 days at most, and never longer than the key itself.',
      }),
    ),
  },
  { title: 'Rotation', description: 'How to rotate the secret.', ...closed },
)

export const RevokedKey = Type.Object(
  {
    ...Key.properties,
    effectiveBy: DateTime({
      description: 'From this time on no node accepts the key, not even one that has lost contact with the database.',
    }),
    made: Made,
  },
  { title: 'RevokedKey', description: 'The revoked key, and what was created with it.', ...closed },
)

// ---- many keys ------------------------------------------------------------------------------------------------------

export const MAX_BULK = 1_000
const BULK_ACTIONS = ['revoke', 'disable', 'enable', 'expire'] as const

export const BulkChange = Type.Object(
  {
    ids: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), {
        minItems: 1,
        maxItems: MAX_BULK,
        uniqueItems: true,
        description: 'The ids of the keys.',
        examples: [['key_01k9wz3v5e8tvs8v4m8m3v5yqd']],
      }),
    ),
    owner: Type.Optional(
      Type.String({
        maxLength: 4 * MAX_EXTERNAL_ID_LENGTH,
        description: 'All keys of this owner that the action would change.',
        examples: ['customer-42'],
      }),
    ),
    filter: Type.Optional(
      Type.Object(
        {
          status: Type.Optional(OneOf(KEY_STATUSES, { description: 'Only keys with this status.' })),
          type: Type.Optional(OneOf(KEY_TYPE_NAMES, { description: 'Only keys of this type.' })),
          q: Type.Optional(
            Line(1, 100, { description: 'Only keys whose name contains this, or whose `start` begins with it.' }),
          ),
          createdBy: Type.Optional(
            Type.String({ maxLength: 100, description: 'Only keys that the user or key with this id created.' }),
          ),
          unusedSince: Type.Optional(
            DateTime({
              description:
                'Only keys that were last accepted before this time or, if they never were, created before it. It must be in the past.',
            }),
          ),
        },
        {
          ...closed,
          description: 'All keys that satisfy each of these conditions and that the action would change.',
        },
      ),
    ),
    action: OneOf(BULK_ACTIONS, {
      description:
        '`revoke`: for good. `disable`: until enabled again. `enable`: what was disabled. `expire`: at `expiresAt`; a key that expires earlier anyway is left as it is.',
    }),
    reason: Type.Optional(
      Line(1, 200, { description: 'With `revoke`: why the keys are revoked. Stored with each key.' }),
    ),
    expiresAt: Type.Optional(
      DateTime({
        description: 'With `expire`, and required there: when the keys stop working, at most 10 years ahead.',
      }),
    ),
  },
  {
    title: 'BulkChange',
    description: 'A change of many keys: exactly one of `ids`, `owner` and `filter` says which.',
    ...closed,
  },
)
export type BulkChange = Static<typeof BulkChange>

const BulkResult = Type.Object(
  {
    id: Id('key', 'The id of the key.'),
    status: OneOf(['done', 'unchanged', 'failed'], {
      description:
        '`done`: the key was changed. `unchanged`: it was so already, or was changed by somebody else meanwhile and no longer matches. `failed`: nothing was changed; see `error`.',
    }),
    error: Type.Optional(
      Type.Object(
        {
          code: Type.String({
            description: 'The code that changing this key alone would have failed with.',
            examples: ['cannot_grant'],
          }),
          detail: Type.String({ description: 'What that means, for people.' }),
        },
        { ...closed, description: 'Why it failed. Present only with `failed`.' },
      ),
    ),
  },
  { title: 'BulkResult', description: 'What became of one key.', ...closed },
)
export type BulkResult = Static<typeof BulkResult>
export const BulkResults = Type.Object(
  {
    results: Type.Array(BulkResult, {
      description: 'One for each key: in the order of `ids`, or newest key first.',
    }),
    more: Type.Boolean({
      description:
        'Whether there are further keys: `owner` or `filter` matches more than 1,000, or your rights changed meanwhile and the rest was not begun. Send the request again, with another `Idempotency-Key`.',
    }),
  },
  { title: 'BulkResults', description: 'What became of each key.', ...closed },
)
export type BulkResults = Static<typeof BulkResults>

export const AffectedKeyCount = Type.Object(
  { affected: Type.Integer({ description: 'The number of live keys that were changed.' }) },
  { title: 'Affected', description: 'How many keys were changed.', ...closed },
)

// ---- verifying ------------------------------------------------------------------------------------------------------

const question = {
  key: Type.String({ minLength: 1, description: 'The full key your caller sent.' }),
  permissions: Type.Optional(
    Type.Array(Type.String({ maxLength: 63 }), {
      maxItems: 100,
      description: 'The permissions the key must have. Without this, only the key itself is checked.',
      examples: [['READ']],
    }),
  ),
  storeId: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'The store the key must belong to: a key of any other store is `NOT_FOUND`. Required unless your service token is bound to a single store.',
      examples: ['store_01k9wz3v5e8tvs8v4m8m3v5yqd'],
    }),
  ),
  ip: Type.Optional(
    Type.String({
      maxLength: 50,
      description: "Your caller's IP address. Without it, a key with an allowlist is `FORBIDDEN_IP`.",
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
          'Instead of `storeId`: accept a key of any store your service token covers. Be careful: where sign-up is open, anyone can create a store, with keys that have every permission there.',
      }),
    ),
    types: Type.Optional(
      Type.Array(OneOf(KEY_TYPE_NAMES), {
        minItems: 1,
        uniqueItems: true,
        description: 'The key types you accept. A key of any other type is `WRONG_TYPE`.',
        examples: [['PROD']],
      }),
    ),
    maxStaleSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 60,
        default: 0,
        description:
          'How old an answer you accept while the database does not respond, such as during a failover. Such an answer has `asOf`: a key that was revoked after that can still be `VALID`. Never for a key with a rate limit, named limits or credits. 0: the response is 503 then.',
      }),
    ),
    explain: Type.Optional(
      Type.Boolean({
        description:
          'Adds `checks`, the result of every check with an explanation. The call counts towards no rate limit and no usage.',
      }),
    ),
  },
  { title: 'Verification', description: 'A key to verify, and what it must satisfy.', ...closed },
)
export type Verification = Static<typeof Verification>

/** The settings that verifying shows, null when there is no such key. */
const verifiedSettings = {
  name: Nullable(Type.String({ description: "The key's name." })),
  type: Nullable(OneOf(KEY_TYPE_NAMES, { description: "The key's type." })),
  permissions: Nullable(
    Type.Array(Type.String(), { description: 'All permissions of the key, not only those you asked for.' }),
  ),
  metadata: Type.Unsafe<Record<string, unknown> | null>({
    type: ['object', 'null'],
    additionalProperties: true,
    description: "The key's metadata.",
  }),
  expiresAt: Nullable(DateTime({ description: 'When the key stops working. `null`: it does not expire.' })),
  owner: Nullable(Type.String({ description: 'Your own id for whoever the key belongs to. `null`: none was set.' })),
}
export const VERIFIED_SETTINGS = Object.keys(verifiedSettings) as (keyof typeof verifiedSettings)[]

/** What a verdict has beside what a node keeps of it: it differs from request to request. */
const unkeptMembers = {
  rateLimit: Type.Optional(
    Type.Object(
      {
        limit: Type.Integer({ description: 'How many verifications a window allows.' }),
        remaining: Type.Integer({ description: 'How many are left in this window.' }),
        resetSeconds: Type.Integer({ description: 'Seconds until the window ends. Send it on as `Retry-After`.' }),
      },
      { ...closed, description: 'The state of the rate limit. Present only for a key that has one.' },
    ),
  ),
  credits: Type.Optional(
    Type.Object(
      {
        remaining: Type.Integer({ description: 'What is left after this verification.' }),
        refillsAt: Nullable(DateTime({ description: 'The next refill. `null`: there is none.' })),
      },
      { ...closed, description: 'The state of the credits. Present only for a key that has credits.' },
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
          exceeded: Type.Boolean({ description: 'Whether this limit refused the request.' }),
        },
        closed,
      ),
      {
        description:
          'The state of each limit that was checked. Absent or empty if there was none, and absent if the key has only `rateLimit` and you named no limits.',
      },
    ),
  ),
  asOf: Type.Optional(
    DateTime({
      description:
        'The moment this answer is of. Present only if the database did not respond and you accepted that with `maxStaleSeconds`.',
    }),
  ),
  unknownPermissions: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Permissions in your request that do not exist, so that no key can have them: most likely typos. Present only if there are any.',
    }),
  ),
}
export const UnkeptVerdict = Type.Object(unkeptMembers)
export type UnkeptVerdict = Static<typeof UnkeptVerdict>

export const Verdict = Type.Object(
  {
    valid: Type.Boolean({ description: 'Whether to let the caller in: `true` exactly when `code` is `VALID`.' }),
    code: OneOf(OUTCOMES, { description: OUTCOME_TEXT }),
    keyId: Nullable(Id('key', 'The id of the key. `null` with `NOT_FOUND`, as are the fields below.')),
    storeId: Nullable(StoreId),
    ...verifiedSettings,
    ...unkeptMembers,
    checks: Type.Optional(
      Type.Array(
        Type.Object(
          {
            code: OneOf(OUTCOMES, { description: 'The code that a failure of this check would give.' }),
            ok: Type.Boolean({ description: 'Whether the key passed.' }),
            detail: Type.String({ description: 'The result in words, for people.' }),
          },
          closed,
        ),
        { description: 'Every check, in order. Present only with `explain`.' },
      ),
    ),
  },
  { title: 'Verdict', description: 'Whether the key was accepted, and why not.', ...closed },
)
export type Verdict = Static<typeof Verdict>

/** What a node keeps of a verdict. The metadata stays JSON text: 16 KiB of `{}` would be 360 KB once parsed. */
export type KeptVerdict = Omit<Verdict, 'metadata' | 'checks' | keyof UnkeptVerdict> & { metadata: string | null }

/** A verdict: what is kept of it, and what differs from request to request. Null: nothing does. */
export type Verified = { kept: KeptVerdict; more: (UnkeptVerdict & Pick<Verdict, 'checks'>) | null }

export function showVerdict({ kept, more }: Verified): Verdict {
  return { ...kept, ...more, metadata: kept.metadata === null ? null : JSON.parse(kept.metadata) }
}

export const VERIFY_PATH = '/v1/keys/verify'

export type Question = Pick<
  Verification,
  'key' | 'permissions' | 'anyPermissions' | 'types' | 'ip' | 'cost' | 'limits' | 'maxStaleSeconds'
> & {
  /** The stores whose keys are accepted. Null: every store. */
  stores: readonly string[] | null
  /** The service that asks. */
  serviceId: string
  /** Of a service that the database could not be asked about: when its token was last known to work (core/caller.ts). */
  askerKnownAt?: Moment | null
}

/** An Idempotency-Key: claimed before anything is spent, and the verdict stored with what is spent. */
export type SpendOnce = {
  /** What the stored row is found by. */
  lookups: [string, ...string[]]
  /** Why no further verdict may be stored for the service, or null. */
  storageRefusal(): Error | null
  toStoredResponse(verdict: Verified): StoredResponse
}

/** A back end that verifies in its own process: when its question was received, and the stores of its token. */
export type LeaseAsker = { receivedAt: number; storeIds: readonly string[] | null }
/** `lease` is null for a verdict that must not be kept. */
type KeptLease = {
  verdict: Verified
  lease: { ageMs: number; validForMs: number | null; secret: number; byAddress: boolean } | null
}

/** Verifies keys: see verify.ts. */
export type Verifier = {
  /** With an Idempotency-Key, what the key spends is spent once, and the response is stored with it. */
  verify(question: Question, once?: SpendOnce | null): Promise<Verified>
  /** The same, if memory alone can answer; null, with nothing counted, when it cannot. */
  verifyNow(question: Question): Verified | null
  /** The same, and on what terms the asker may keep it. */
  lease(question: Question, asker: LeaseAsker, once?: SpendOnce | null): Promise<KeptLease>
  /** The same, with the result of every check, and nothing spent or counted. */
  explain(question: Question): Promise<Verified>
  /** Counts a request to this API that was made with the key itself. */
  countOwnUse(key: KeyCaller, outcome: Outcome, permissions: readonly Permission[]): void
}

/** RFC 7662. What it does not name is ours: `ip`, `store_id`, `any_store` and `types`, as in `Verification`. */
export const Introspection = Type.Object(
  {
    token: Type.String({ minLength: 1, description: 'The full key your caller sent.' }),
    token_type_hint: Type.Optional(
      Type.String({ description: 'Accepted for compatibility with RFC 7662, and ignored.' }),
    ),
    ip: question.ip,
    store_id: question.storeId,
    any_store: Type.Optional(
      OneOf(['true', 'false'], {
        description: '`true`: accept a key of any store your service token covers.',
      }),
    ),
    types: Type.Optional(
      Type.String({ description: 'The key types you accept, separated by spaces.', examples: ['PROD'] }),
    ),
    scope: Type.Optional(Type.String({ description: 'The permissions the key must have, separated by spaces.' })),
  },
  { title: 'Introspection', description: 'An introspection request (RFC 7662).', additionalProperties: true },
)
export type Introspection = Static<typeof Introspection>

export const Introspected = Type.Object(
  {
    active: Type.Boolean({
      description: 'Whether to let the caller in. The other fields are present only if it is `true`.',
    }),
    scope: Type.Optional(Type.String({ description: 'The permissions of the key, separated by spaces.' })),
    client_id: Type.Optional(Type.String({ description: 'The id of the key.' })),
    sub: Type.Optional(Type.String({ description: 'The id of the key.' })),
    aud: Type.Optional(Type.String({ description: 'The id of the store.' })),
    token_type: Type.Optional(Type.String({ description: 'Always `Bearer`.' })),
    owner: Type.Optional(
      Type.String({ description: 'Your own id for whoever the key belongs to. Absent if none was set.' }),
    ),
    exp: Type.Optional(
      Type.Integer({ description: 'When the key expires, in seconds since 1970. Absent if it does not.' }),
    ),
  },
  { title: 'Introspected', description: 'An introspection response (RFC 7662).', ...closed },
)
export type Introspected = Static<typeof Introspected>

// ---- leaks ----------------------------------------------------------------------------------------------------------

export const LeakReport = Type.Object(
  { key: Type.String({ minLength: 1, description: 'The full key that leaked.' }) },
  { title: 'LeakReport', description: 'A key that leaked.', ...closed },
)
export const LeakAccepted = Type.Object(
  { accepted: Type.Boolean({ description: 'Always `true`, whether or not there is such a key.' }) },
  { title: 'LeakAccepted', description: 'The report was received.', ...closed },
)

/** The message of GitHub's secret scanning. It may have more members than these. */
export const GithubReports = Type.Array(
  Type.Object(
    {
      token: Type.String({ description: 'The text that looks like a key.' }),
      type: Type.Optional(Type.String({ description: 'The name our key format is registered under at GitHub.' })),
      url: Type.Optional(Nullable(Type.String({ description: 'Where it was found. May be empty.' }))),
      source: Type.Optional(
        Nullable(Type.String({ description: 'What it was found in, such as a commit, an issue or a package.' })),
      ),
    },
    { additionalProperties: true },
  ),
  { title: 'GithubReports', description: "A report from GitHub's secret scanning." },
)
export type GithubReports = Static<typeof GithubReports>

/** The answer that GitHub expects, in the form that does not repeat the key. */
export const GithubFeedback = Type.Array(
  Type.Object(
    {
      token_hash: Type.String({ description: 'SHA-256 of the token, in hex.' }),
      token_type: Type.Optional(Type.String({ description: 'The `type` that GitHub sent.' })),
      label: OneOf(['true_positive', 'false_positive'], {
        description: '`true_positive`: it is, or was, a key of this service.',
      }),
    },
    closed,
  ),
  { title: 'GithubFeedback', description: 'What GitHub is told about each token.' },
)
export type GithubFeedback = Static<typeof GithubFeedback>

// ---- watching -------------------------------------------------------------------------------------------------------

const usageSpan = {
  from: DateTime({ description: 'The start of the first interval. Included.' }),
  to: DateTime({ description: 'The end of the last interval. Not included.' }),
  interval: OneOf(['hour', 'day'], { description: 'The length of an interval. Hours and days are in UTC.' }),
}
const counts = Type.Unsafe<Record<string, number>>({
  type: 'object',
  additionalProperties: { type: 'integer' },
  description: 'The number of verifications, by the `code` of the verdict.',
  examples: [{ VALID: 12 }],
})
const usageByTime = Type.Array(
  Type.Object({ at: DateTime({ description: 'The start of the hour or day.' }), counts }, closed),
  { description: 'The counts, oldest first. Intervals without any use are left out.' },
)
const secretUsage = Type.Object(
  {
    counts,
    lastUsedAt: Nullable(DateTime({ description: 'When this secret was last accepted. `null`: never.' })),
    sources: Type.Array(
      Type.Object(
        {
          ip: Nullable(
            Type.String({
              description: "The IP address of the back end's caller. `null`: the back end did not send it.",
            }),
          ),
          service: Nullable(
            Type.String({
              description:
                'The id of the service token that was used to verify it. `null`: the key was used to call this API.',
            }),
          ),
          lastUsedAt: DateTime({ description: 'When this secret was last accepted from there.' }),
        },
        closed,
      ),
      { description: 'Where this secret was accepted from in the last 90 days: the 20 most recent places.' },
    ),
  },
  {
    ...closed,
    description: 'The use of one secret. `null`: there is no such secret, because the key was never rotated.',
  },
)

export const KeyUsage = Type.Object(
  {
    ...usageSpan,
    data: usageByTime,
    bySecret: Type.Object(
      { current: secretUsage, previous: Nullable(secretUsage) },
      {
        ...closed,
        description: 'The same counts by secret. Use it to see who still uses the old secret after a rotation.',
      },
    ),
  },
  { title: 'KeyUsage', description: 'How often a key was verified.', ...closed },
)

export const StoreUsage = Type.Object(
  {
    ...usageSpan,
    ...pageOf(
      Type.Object({ keyId: Type.String({ description: 'The id of the key.' }), data: usageByTime }, closed),
      'StoreUsage',
    ).properties,
  },
  { title: 'StoreUsage', description: 'How often each key of the store was verified.', ...closed },
)

export const OwnerUsage = Type.Object(
  { ...usageSpan, data: usageByTime },
  { title: 'OwnerUsage', description: 'How often the keys of an owner were verified, added up.', ...closed },
)

/** What a key is told about itself. */
export const OwnKey = Type.Object(
  {
    ...Key.properties,
    presented: OneOf(['current', 'previous'], {
      description:
        'Which of its secrets you used. The previous one works only until its grace period ends. `start` belongs to the secret you used.',
    }),
  },
  { title: 'OwnKey', description: 'The key that made the request.', ...closed },
)

export const UnusedPermissions = Type.Object(
  {
    since: DateTime({ description: 'The start of the period that was looked at.' }),
    unused: Type.Array(Type.String(), {
      description:
        'Permissions the key has and that no verification or request needed in this period. Consider removing them.',
    }),
    exercised: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string', format: 'date-time' },
      description: 'Permissions that were needed, and when they were last needed.',
      examples: [{ READ: '2027-01-31T12:00:00.000Z' }],
    }),
  },
  { title: 'Advice', description: 'Permissions the key may not need.', ...closed },
)

export const Grantable = Type.Object(
  {
    permissions: Type.Array(Type.String(), { description: 'The permissions you can grant: those you have yourself.' }),
    types: Type.Array(OneOf(KEY_TYPE_NAMES), { description: 'The types of key you can create.' }),
  },
  { title: 'Grantable', description: 'What you can give to a key.', ...closed },
)
