// The row that keeps the response to a request with an Idempotency-Key (idempotency/idempotency.ts).

export type StoredResponse = {
  lookup: string
  fingerprint: string
  reveals_secret: boolean
  status: number
  resource_id: string | null
  kid: string
  salt: string | null
  sealed: string | null
  created_at: Date
}
