// What the parts of the verifier say to one another.

import type { ValidVerdict, Verification } from '../api.gen.ts'

export type Question = Verification
export type Kept = ValidVerdict

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
