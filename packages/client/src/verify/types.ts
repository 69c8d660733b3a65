// What the parts of the verifier say to one another.

/** Body of `POST /v1/keys/verify`. */
export type Question = {
  key: string
  permissions?: string[]
  anyPermissions?: string[]
  types?: string[]
  storeId?: string
  anyStore?: boolean
  ip?: string
}

/** Its answer. */
export type Verdict = {
  readonly valid: boolean
  readonly code: string
  readonly keyId: string | null
  readonly storeId: string | null
  readonly type: string | null
  readonly permissions: readonly string[] | null
  readonly metadata: Readonly<Record<string, unknown>> | null
}

/** For how long, and for whom, a `VALID` may be kept. Of `POST /v1/keys/lease`; null when it may not. */
export type Lease = {
  /** How old the node's knowledge was when the question came in. */
  ageMs: number
  /** Until the key, or the grace of its secret, ends; null: never. */
  validForMs: number | null
  /** The number of the secret. */
  secret: number
  /** Whether the verdict holds for the asked `ip` alone. */
  byAddress: boolean
  node: string
  /** Names the set of permissions that the node knows. */
  catalogue: string
}

/** A frame of `GET /v1/keys/changes`. */
export type Frame = { event: string; id: string; data: string }
