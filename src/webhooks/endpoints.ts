// What is needed to send to a webhook: its URL and its secrets, read for many webhooks in one statement.

import { ago, now } from '../core/clock.ts'
import type { Batch, Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import { AFTER_DELETE_MS } from './outbox.ts'
import { openSecret } from './signature.ts'

export type Endpoint = {
  url: string
  secrets: Buffer[]
  failingSince: Date | null
  revision: number
  /** Whom its messages count for (auth/account.ts). */
  account: string
}

/** Webhooks that were deleted or disabled are missing from the result. */
export async function loadEndpoints(db: Db, instance: Instance, ids: string[]): Promise<Map<string, Endpoint>> {
  const rows = await db.query<{
    id: string
    url: string
    secret: Buffer
    secret_kid: string
    previous_secret: Buffer | null
    previous_secret_kid: string | null
    previous_expires_at: Date | null
    failing_since: Date | null
    revision: number
    account: string
  }>(sql`
    select webhook.id, webhook.url, webhook.secret, webhook.secret_kid, webhook.previous_secret,
           webhook.previous_secret_kid, webhook.previous_expires_at, webhook.failing_since, webhook.revision,
           account_of(webhook.store_id) as account
      from webhooks webhook
     where webhook.id = any(${ids})
       and webhook.enabled
       and coalesce((select deleted_at from stores where id = webhook.store_id), 'infinity') > ${ago(AFTER_DELETE_MS)}`)
  return new Map(
    rows.map((row) => {
      const kept = [{ sealed: row.secret, kid: row.secret_kid }]
      const { previous_secret: sealed, previous_secret_kid: kid, previous_expires_at: end } = row
      if (sealed && kid && end && end > now()) kept.push({ sealed, kid })
      const secrets = kept
        .map((secret) => openSecret(instance.keyring, row.id, secret))
        .filter((bytes) => bytes !== null)
      const { url, failing_since: failingSince, revision } = row
      return [row.id, { url, secrets, failingSince, revision, account: row.account }]
    }),
  )
}

/** Endpoints one by one, those that are asked for at the same moment in one statement. */
export function newEndpointBatch(instance: Instance): Batch<string, Endpoint | null> {
  return async (db, ids) => {
    const found = await loadEndpoints(db, instance, ids)
    return ids.map((id) => found.get(id) ?? null)
  }
}
