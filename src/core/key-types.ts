// The types of API keys. A new type is a row here, and a value in the check of `api_keys.type` (a migration).

type KeyTypeRow = {
  /** Stands in the key itself, after the prefix: `skp_prod_…`. */
  tokenKind: string
  /** Whether a leaked key of this type may have the grace that its store has chosen. The others end at once. */
  leakGrace: boolean
}

export const KEY_TYPES = {
  PROD: { tokenKind: 'prod', leakGrace: true },
  TEST: { tokenKind: 'test', leakGrace: false },
  DEV: { tokenKind: 'dev', leakGrace: false },
} as const satisfies Record<string, KeyTypeRow>

export type KeyType = keyof typeof KEY_TYPES
export type KeyTokenKind = (typeof KEY_TYPES)[KeyType]['tokenKind']

export const KEY_TYPE_NAMES = Object.keys(KEY_TYPES) as KeyType[]
export const KEY_TOKEN_KINDS = KEY_TYPE_NAMES.map((type): KeyTokenKind => KEY_TYPES[type].tokenKind)
