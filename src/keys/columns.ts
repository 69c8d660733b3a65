// A key's columns, and what the API calls them. Every list of a key's columns (select, insert, update, the cache) is made
// from here, and so is the way from a row to the API and back. A new setting is a row of KEY_SETTINGS; how it looks from
// outside stands in schema.ts.

import { type ColumnType, columnList } from '../db/recordset.ts'
import type { ApiKeysRow } from '../db/tables.gen.ts'
import type { Credits, Key, KeyStatus, NamedRateLimit } from './schema.ts'

/** Columns that only the statements about secrets, their holders, leaks and expiry notices name. */
type InternalColumn =
  | 'expiry_notice_days'
  | 'hash'
  | 'hash_kid'
  | 'imported_hash'
  | 'secret_no'
  | 'secret_used_at'
  | 'rotated_at'
  | 'rotation_done_at'
  | 'previous_hash'
  | 'previous_hash_kid'
  | 'previous_start'
  | 'leaked_at'
  | 'leaked_secret_no'
  | 'leak_shortened'
  | 'expires_before_leak'
  | 'created_by_secret_no'

export type KeyRow = Omit<ApiKeysRow, InternalColumn | 'metadata' | 'created_by_kind' | 'rate_limits'> & {
  metadata: Record<string, unknown>
  rate_limits: NamedRateLimit[]
  /** From key_credits, where they are read: see CREDITS. */
  credits?: Credits | null
  created_by_kind: Key['createdBy']['kind']
}

// ---- settings: what a manager sets ----------------------------------------------------------------------------------

type KeySetting<Column extends keyof KeyRow, Value, Shown> = {
  columns: Readonly<Record<Column, ColumnType>>
  /** Writes the value into its columns: an object for each setting would cost more than the rest of creating a key. */
  write: (row: Partial<Pick<KeyRow, Column>>, value: Value) => void
  show: (row: Pick<KeyRow, Column>) => Shown
}

/** A setting that is one column, with the same value in the row and in the API. */
function plain<Column extends keyof KeyRow>(
  column: Column,
  type: ColumnType,
): KeySetting<Column, KeyRow[Column], KeyRow[Column]> {
  return {
    // A computed name loses its type: the object has the one member that `column` names.
    columns: { [column]: type } as Record<Column, ColumnType>,
    write: (row, value) => {
      row[column] = value
    },
    show: (row) => row[column],
  }
}

const expiresAt: KeySetting<'expires_at', Date | null, string | null> = {
  columns: { expires_at: 'timestamptz' },
  write: (row, value) => {
    row.expires_at = value
  },
  show: (row) => row.expires_at?.toISOString() ?? null,
}

const rateLimit: KeySetting<'rate_limit' | 'rate_limit_window_seconds', Key['rateLimit'], Key['rateLimit']> = {
  columns: { rate_limit: 'int', rate_limit_window_seconds: 'int' },
  write: (row, value) => {
    row.rate_limit = value?.limit ?? null
    row.rate_limit_window_seconds = value?.windowSeconds ?? null
  },
  show: ({ rate_limit: limit, rate_limit_window_seconds: windowSeconds }) =>
    limit === null || windowSeconds === null ? null : { limit, windowSeconds },
}

const credits: KeySetting<'has_credits', Key['credits'], Key['credits']> = {
  columns: { has_credits: 'boolean' },
  write: (row: Partial<KeyRow>, value) => {
    row.has_credits = value !== null
    row.credits = value
  },
  show: ({ credits = null }: Partial<KeyRow>) => credits,
}

/** By their names in the API. */
const KEY_SETTINGS = {
  name: plain('name', 'text'),
  type: plain('type', 'text'),
  permissions: plain('permissions', 'text[]'),
  metadata: plain('metadata', 'json'),
  expiresAt,
  ipAllowlist: plain('ip_allowlist', 'text[]'),
  rateLimit,
  rateLimits: plain('rate_limits', 'json'),
  owner: plain('owner', 'text'),
  credits,
}
type KeySettings = typeof KEY_SETTINGS
type SettingName = keyof KeySettings
export type SettingColumn = { [Name in SettingName]: keyof KeySettings[Name]['columns'] }[SettingName]

/** A new key's settings, as they were parsed. */
export type KeySpec = { [Name in SettingName]: Parameters<KeySettings[Name]['write']>[1] }
/** Absent settings stay as they are; null clears. */
export type KeyPatch = Partial<Omit<KeySpec, 'type'>> & { enabled?: boolean }
/** The same as it was asked for: credits may be given in part (completeCredits). */
export type AskedPatch = Omit<KeyPatch, 'credits'> & { credits?: Partial<Credits> | null }

const SETTING_NAMES = Object.keys(KEY_SETTINGS) as SettingName[]

/** The columns of all settings, with their types in SQL. */
export const SETTING_COLUMNS = Object.assign(
  {},
  ...SETTING_NAMES.map((name) => KEY_SETTINGS[name].columns),
) as Readonly<Record<SettingColumn, ColumnType>>

/** The columns that a change may concern, with their types in SQL. A key's type never changes. */
const { type: _, ...changeable } = SETTING_COLUMNS
export const CHANGEABLE_COLUMNS = { ...changeable, enabled: 'boolean' } as const satisfies Partial<
  Record<keyof KeyRow, ColumnType>
>

/** Writes the settings that are given into their columns of `row`. */
export function writeSettings<Row extends Partial<KeyRow>>(
  row: Row,
  settings: KeySpec,
): Row & Pick<KeyRow, SettingColumn>
export function writeSettings<Row extends Partial<KeyRow>>(row: Row, settings: KeyPatch): Row
export function writeSettings(row: Partial<KeyRow>, settings: Partial<KeySpec>): Partial<KeyRow> {
  for (const name of SETTING_NAMES) {
    // Each value goes to the row of the table that bears its name; TypeScript sees all rows at once.
    const write = KEY_SETTINGS[name].write as (row: Partial<KeyRow>, value: unknown) => void
    if (settings[name] !== undefined) write(row, settings[name])
  }
  return row
}

type Shown = { [Name in SettingName]: ReturnType<KeySettings[Name]['show']> }

/** The settings as the API shows them: all of them, or those that are named. With `target`, they are added to it. */
export function showSettings<Name extends SettingName = SettingName, Target extends object = object>(
  row: Pick<KeyRow, SettingColumn>,
  names: readonly Name[] = SETTING_NAMES as Name[],
  target: Target = {} as Target,
): Target & Pick<Shown, Name> {
  const shown = target as Record<string, unknown>
  for (const name of names) shown[name] = KEY_SETTINGS[name].show(row)
  return shown as Target & Pick<Shown, Name>
}

/** What bounds the use of a key, and of all that is made with it (auth/bounds.ts). */
export function boundsOf(
  row: Pick<
    KeyRow,
    'expires_at' | 'ip_allowlist' | 'rate_limit' | 'rate_limit_window_seconds' | 'rate_limits' | 'owner' | 'has_credits'
  >,
) {
  return {
    expiresAt: row.expires_at,
    ipAllowlist: row.ip_allowlist,
    rateLimit: rateLimit.show(row),
    rateLimits: row.rate_limits,
    owner: row.owner,
    hasCredits: row.has_credits,
  }
}

// ---- the owner, who may have been erased ------------------------------------------------------------------------------

/**
 * Whether the row `erased` of erased_owners is about the row `key` of api_keys, which has ended then. (A key that was revoked
 * by a node whose clock is ahead counts too.) Ended keys change no more, so nobody else has become its owner since.
 */
export const isErasedOwner = (key: string) => `
  erased.store_id = ${key}.store_id
  and erased.owner = ${key}.owner
  and (${key}.expires_at <= erased.erased_at
       or (${key}.revoked_at <= erased.erased_at + interval '1 minute' and ${key}.created_at <= erased.erased_at))`

/** As it is shown: an erased owner's pseudonym also while the row does not bear it yet (erased-owners.ts). */
export const shownOwner = (key: string) => `
  case when ${key}.owner is not null and (${key}.revoked_at is not null or ${key}.expires_at is not null) then coalesce(
    (select erased.pseudonym from erased_owners erased where ${isErasedOwner(key)}),
    ${key}.owner
  ) else ${key}.owner end as owner`

// ---- the whole record -----------------------------------------------------------------------------------------------

/** As the next verification will find them: a refill that is due counts. */
const CREDITS = `
  case when api_keys.has_credits then (
    select json_build_object(
             'remaining', case when refills_at <= clock_timestamp() then greatest(remaining, refill_amount) else remaining end,
             'refill', case when refill_amount is not null then json_strip_nulls(json_build_object(
                         'amount', refill_amount, 'interval', refill_interval, 'dayOfMonth', refill_day
                       )) end
           )
      from key_credits
     where key_id = api_keys.id
  ) end as credits`

export const creditsColumn = columnList([CREDITS])

const COLUMNS = [
  'id',
  'store_id',
  ...Object.keys(SETTING_COLUMNS).map((name) => (name === 'owner' ? shownOwner('api_keys') : name)),
  'start',
  'enabled',
  'created_by_kind',
  'created_by_id',
  'last_used_at',
  'revoked_at',
  'revocation_reason',
  'previous_expires_at',
  'previous_used_at',
  'revision',
  'created_at',
  'updated_at',
  'imported',
  CREDITS,
]
/** The select list of a KeyRow, from `api_keys`. */
export const keyColumns = columnList(COLUMNS)

/** The same without metadata, which may be 16 KiB, where there are many keys and none of it is wanted. */
export const bareKeyColumns = columnList(COLUMNS.map((name) => (name === 'metadata' ? "'{}'::json as metadata" : name)))

/** A key that is only read: its metadata goes from the database to the answer as text (`metadata` of an Answer). */
export type ReadKeyRow = Omit<KeyRow, 'metadata'> & { metadata: string }
/** The select list of a ReadKeyRow. */
export const readKeyColumns = columnList(
  COLUMNS.map((name) => (name === 'metadata' ? 'metadata::text as metadata' : name)),
)

/** Without the metadata. */
export const showReadKey = (row: ReadKeyRow, at: Date): Key => showKey({ ...row, metadata: {} }, at)

export function showKey(row: KeyRow, at: Date): Key {
  return showSettings(row, SETTING_NAMES, {
    id: row.id,
    storeId: row.store_id,
    start: row.start,
    status: statusOf(row, at),
    enabled: row.enabled,
    createdAt: row.created_at.toISOString(),
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    updatedAt: row.updated_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
    revocationReason: row.revocation_reason,
    imported: row.imported,
    rotation: showRotation(row, at),
  })
}

/** As long as the old secret works: the key's own end may have been moved to before the end of the grace. */
function showRotation(row: KeyRow, at: Date): Key['rotation'] {
  const { previous_expires_at: graceEnd, previous_used_at: used, expires_at: keyEnd } = row
  if (graceEnd === null || graceEnd <= at || row.revoked_at || (keyEnd && keyEnd <= at)) return null
  const end = keyEnd && keyEnd < graceEnd ? keyEnd : graceEnd
  return { previousExpiresAt: end.toISOString(), previousLastUsedAt: used?.toISOString() ?? null }
}

export function statusOf(row: Pick<KeyRow, 'revoked_at' | 'expires_at' | 'enabled'>, at: Date): KeyStatus {
  if (row.revoked_at) return 'REVOKED'
  if (row.expires_at && row.expires_at <= at) return 'EXPIRED'
  return row.enabled ? 'ACTIVE' : 'DISABLED'
}
