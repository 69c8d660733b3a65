// Webhooks: made, listed, changed, given a new secret, taken away. What they are told, and how, is in dispatch.ts.

import { lockStoreAndRecheck } from '../auth/recheck.ts'
import { creatorOf, type Manager } from '../core/caller.ts'
import { addMs, now, SECOND } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { newId } from '../core/ids.ts'
import { type Page, type PageParams, pageWindow, toPage } from '../core/pagination.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets, storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { checkHost } from './guard.ts'
import type { WantedWebhook, WebhookWish } from './input.ts'
import { FAILING_MS } from './schedule.ts'
import { showWebhook, type Webhook, type WebhookRow } from './schema.ts'
import { mintSecret } from './signature.ts'

export type Place = { storeId: string; webhookId: string }

const MAX_WEBHOOKS = 20

const columns = sql`
  id, store_id, url, types, description, enabled, disabled_at, disabled_reason, failing_since, previous_expires_at,
  created_by_kind, created_by_id, revision, created_at, updated_at`

// ---- create -----------------------------------------------------------------------------------------------------------

export async function createWebhook(
  db: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  wanted: WantedWebhook,
  retry: Idempotency | null,
): Promise<Answer<Webhook & { secret: string }>> {
  // DNS may take its time, and nobody's lock waits for it.
  await refuseInnerHost(instance, wanted.url)
  return db.transaction(async (tx) => {
    await retry?.claim(tx)
    await lockStoreAndRecheck(tx, caller, storeId)
    await checkRoom(tx, storeId)
    const row = newRow(caller, storeId, wanted)
    const { secret, kept } = mintSecret(instance.keyring, row.id)
    await tx.query(sql`
      insert into webhooks
             (id, store_id, url, types, description, secret, secret_kid, created_by_kind, created_by_id, created_at,
              updated_at)
      values (${row.id}, ${storeId}, ${row.url}, ${row.types}, ${row.description}, ${kept.sealed}, ${kept.kid},
              ${row.created_by_kind}, ${row.created_by_id}, ${row.created_at}, ${row.updated_at})`)
    await writeEvents(tx, [newEvent(caller, storeId, 'webhook.created', row.id, told(row))])
    const answer = withSecret(row, secret.reveal())
    if (retry) await storeResponse(tx, retry.toStoredResponse(answer))
    return answer
  })
}

async function refuseInnerHost(instance: Instance, url: string): Promise<void> {
  const faults: Fault[] = []
  await checkHost(instance.webhooks.resolve, url, instance.webhooks.allowPrivate, faults)
  if (faults.length > 0) failInput(faults)
}

/** Under the store's lock, so that two cannot both take the last place. */
async function checkRoom(tx: Db, storeId: string): Promise<void> {
  const held = await tx.query(sql`select id from webhooks where store_id = ${storeId}`)
  if (held.length >= MAX_WEBHOOKS)
    fail('limit_exceeded', {
      detail: `A store has at most ${MAX_WEBHOOKS} webhooks. Delete those that are no longer used.`,
    })
}

function newRow(caller: Manager, storeId: string, wanted: WantedWebhook): WebhookRow {
  const by = creatorOf(caller)
  const at = now()
  return {
    id: newId('wh'),
    store_id: storeId,
    ...wanted,
    enabled: true,
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    previous_expires_at: null,
    created_by_kind: by.kind,
    created_by_id: by.id,
    revision: 1,
    created_at: at,
    updated_at: at,
  }
}

function withSecret(row: WebhookRow, secret: string): Answer<Webhook & { secret: string }> {
  return {
    body: { ...showWebhook(row, row.updated_at), secret },
    etag: etagOf(row.revision),
    resource: { id: row.id, location: `/v1/user/store/${row.store_id}/webhooks/${row.id}` },
  }
}

/** Of the URL an event tells the host only: people put secrets into paths and queries. */
function told(row: Pick<WebhookRow, 'url' | 'types' | 'description'>) {
  return { host: new URL(row.url).host, types: row.types, description: row.description }
}

// ---- list and read ----------------------------------------------------------------------------------------------------

export async function listWebhooks(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams,
): Promise<Page<Webhook>> {
  const list = ['webhooks', storeId]
  const window = pageWindow(instance.keyring, list, query)
  const at = now()
  const rows = await db.query<WebhookRow>(sql`
    select ${columns}
      from webhooks
     where store_id = ${storeId}
       and id < ${window.after}
     order by id desc
     limit ${window.limit + 1}`)
  const show = (row: WebhookRow) => showWebhook(row, at)
  return toPage(instance.keyring, list, window, rows, (row) => row.id, show)
}

export async function readWebhook(db: Db, place: Place): Promise<Answer<Webhook>> {
  const row = await findWebhook(db, place)
  return { body: showWebhook(row, now()), etag: etagOf(row.revision) }
}

export async function findWebhook(db: Db, place: Place): Promise<WebhookRow> {
  const row = await db.one<WebhookRow>(sql`
    select ${columns}
      from webhooks
     where id = ${place.webhookId}
       and store_id = ${place.storeId}`)
  return row ?? fail('webhook_not_found')
}

// ---- change -----------------------------------------------------------------------------------------------------------

export async function changeWebhook(
  db: Db,
  instance: Instance,
  caller: Manager,
  place: Place,
  changes: WebhookWish,
  ifMatch: string | null,
): Promise<Answer<Webhook>> {
  if (changes.url !== undefined) await refuseInnerHost(instance, changes.url)
  return db.transaction(async (tx) => {
    await lockStoreAndRecheck(tx, caller, place.storeId)
    const before = await lockWebhook(tx, place)
    checkIfMatch(ifMatch, before.revision)
    const after = { ...before, ...changes }
    const changed = CHANGEABLE.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    if (changed.length === 0) return { body: showWebhook(before, now()), etag: etagOf(before.revision) }
    after.revision += 1
    after.updated_at = now()
    if (changed.includes('enabled')) Object.assign(after, switched(after.enabled, after.updated_at))
    await tx.query(sql`
      update webhooks
         set url = ${after.url}, types = ${after.types}, description = ${after.description}, enabled = ${after.enabled},
             disabled_at = ${after.disabled_at}, disabled_reason = ${after.disabled_reason},
             failing_since = ${after.failing_since}, revision = ${after.revision}, updated_at = ${after.updated_at}
       where id = ${place.webhookId}`)
    const off = changed.includes('enabled') && !after.enabled
    await writeEvents(tx, [
      newEvent(caller, place.storeId, 'webhook.updated', place.webhookId, {
        from: { ...told(before), enabled: before.enabled },
        to: { ...told(after), enabled: after.enabled },
        ...(changed.includes('url') ? { urlChanged: true } : {}),
      }),
      ...(off ? [newEvent(caller, place.storeId, 'webhook.disabled', place.webhookId, { reason: 'REQUESTED' })] : []),
    ])
    return { body: showWebhook(after, after.updated_at), etag: etagOf(after.revision) }
  })
}

const CHANGEABLE = ['url', 'types', 'description', 'enabled'] as const

/** Whoever is switched on again begins with a clean sheet. */
function switched(on: boolean, at: Date): Partial<WebhookRow> {
  return on
    ? { disabled_at: null, disabled_reason: null, failing_since: null }
    : { disabled_at: at, disabled_reason: 'REQUESTED' }
}

async function lockWebhook(tx: Db, place: Place): Promise<WebhookRow> {
  const row = await tx.one<WebhookRow>(sql`
    select ${columns}
      from webhooks
     where id = ${place.webhookId}
       and store_id = ${place.storeId}
       for no key update`)
  return row ?? fail('webhook_not_found')
}

// ---- rotate -----------------------------------------------------------------------------------------------------------

/** A new secret. The one before signs too until the grace ends; one that is older still ends now, so there are two at most. */
export async function rotateWebhook(
  tx: Db,
  instance: Instance,
  caller: Manager,
  place: Place,
  gracePeriodSeconds: number,
): Promise<Answer<Webhook & { secret: string }>> {
  const before = await lockWebhook(tx, place)
  const at = now()
  const { secret, kept } = mintSecret(instance.keyring, place.webhookId)
  const end = gracePeriodSeconds > 0 ? addMs(at, gracePeriodSeconds * SECOND) : null
  const after = { ...before, previous_expires_at: end, revision: before.revision + 1, updated_at: at }
  await tx.query(sql`
    update webhooks
       set previous_secret = case when ${end}::timestamptz is not null then secret end,
           previous_secret_kid = case when ${end}::timestamptz is not null then secret_kid end,
           previous_expires_at = ${end},
           secret = ${kept.sealed},
           secret_kid = ${kept.kid},
           revision = ${after.revision},
           updated_at = ${at}
     where id = ${place.webhookId}`)
  await destroyReplayableSecrets(tx, [place.webhookId])
  await writeEvents(tx, [
    newEvent(caller, place.storeId, 'webhook.rotated', place.webhookId, { gracePeriodSeconds, previousExpiresAt: end }),
  ])
  return withSecret(after, secret.reveal())
}

// ---- delete -----------------------------------------------------------------------------------------------------------

export async function deleteWebhook(tx: Db, caller: Manager, place: Place, ifMatch: string | null): Promise<void> {
  const row = await lockWebhook(tx, place)
  checkIfMatch(ifMatch, row.revision)
  await tx.query(sql`delete from webhooks where id = ${place.webhookId}`)
  await destroyReplayableSecrets(tx, [place.webhookId])
  await writeEvents(tx, [newEvent(caller, place.storeId, 'webhook.deleted', place.webhookId, told(row))])
}

// ---- when the other side has had enough -------------------------------------------------------------------------------

/** Unless it was changed since it was asked, or all has been well meanwhile. */
export async function disableWebhook(
  db: Db,
  webhookId: string,
  revision: number,
  reason: 'GONE' | 'FAILING',
): Promise<void> {
  await db.transaction(async (tx) => {
    const at = now()
    const row = await tx.one<{ store_id: string; failing_since: Date | null }>(sql`
      update webhooks
         set enabled = false, disabled_at = ${at}, disabled_reason = ${reason}, revision = revision + 1, updated_at = ${at}
       where id = ${webhookId}
         and enabled
         and revision = ${revision}
         and (${reason === 'GONE'} or failing_since <= ${addMs(at, -FAILING_MS)})
   returning store_id, failing_since`)
    if (!row) return
    const data = { reason, failingSince: row.failing_since }
    await writeEvents(tx, [newEvent(SYSTEM, row.store_id, 'webhook.disabled', webhookId, data)])
  })
}
