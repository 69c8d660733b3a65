// What the parts of the verifier say to one another.

import type { LeasedVerdict, ValidVerdict, Verification } from '../api.gen.ts'

export type Question = Verification
export type Kept = ValidVerdict

/** For how long, and for whom, a `VALID` may be kept. Of `POST /v1/keys/lease`; null when it may not. */
export type Lease = NonNullable<LeasedVerdict['lease']>

/** A frame of `GET /v1/keys/changes`. */
export type Frame = { event: string; id: string; data: string }
