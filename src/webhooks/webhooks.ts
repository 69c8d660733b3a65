// Webhooks: created, listed, changed, rotated, deleted, disabled. How messages are sent to them is in dispatcher.ts.

import { checkBounds } from '../auth/bounds.ts'
import { inStore, lockStoreAndRecheck } from '../auth/recheck.ts'
import { creatorOf, type Manager } from '../core/caller.ts'
import { addMs, ago, now, SECOND } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { checkIfMatch, etagOf } from '../core/etag.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Answer, Idempotency } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import { type Actor, type EventRow, newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import { destroyReplayableSecrets, storeResponse } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import type { WebhookPatch, WebhookSpec } from './input.ts'
import { FAILING_MS } from './retry-schedule.ts'
import { showWebhook, type Webhook, type WebhookRow } from './schema.ts'
import { mintSigningSecret } from './signature.ts'
import { checkHost } from './url-guard.ts'

export type WebhookRef = { storeId: string; webhookId: string }

const columns = sql`
  id, store_id, url, types, description, enabled, disabled_at, disabled_reason, failing_since, previous_expires_at,
  created_by_kind, created_by_id, revision, created_at, updated_at`

// ---- create -----------------------------------------------------------------------------------------------------------

export async function createWebhook(
  db: Db,
  instance: Instance,
  caller: Manager,
  storeId: string,
  wanted: WebhookSpec,
  idempotency: Idempotency | null,
): Promise<Answer<Webhook & { secret: string }>> {
  checkBounds(caller, 'webhook')
  // Before the transaction: DNS may be slow, and no lock is held meanwhile.
  await refusePrivateHost(db, instance, storeId, wanted.url)
  return inStore(db, caller, storeId, async (tx) => {
    await idempotency?.claim(tx)
    await lockStoreAndRecheck(tx, caller, storeId)
    await checkRoom(tx, instance, storeId)
    const row = newRow(caller, storeId, wanted)
    const { secret, kept } = mintSigningSecret(instance.keyring, row.id)
    await tx.query(sql`
      insert into webhooks
             (id, store_id, url, types, description, secret, secret_kid, created_by_kind, created_by_id,
              created_by_secret_no, created_at, updated_at)
      values (${row.id}, ${storeId}, ${row.url}, ${row.types}, ${row.description}, ${kept.sealed}, ${kept.kid},
              ${row.created_by_kind}, ${row.created_by_id}, ${caller.kind === 'key' ? caller.secretNo : null},
              ${row.created_at}, ${row.updated_at})`)
    await writeEvents(tx, [newEvent(caller, storeId, 'webhook.created', row.id, shownInEvents(row))])
    const answer = withSecret(row, secret.reveal())
    if (idempotency) await storeResponse(tx, idempotency.toStoredResponse(answer))
    return answer
  })
}

async function refusePrivateHost(db: Db, instance: Instance, storeId: string, url: string): Promise<void> {
  const { allowPrivate, resolve } = instance.webhooks
  const faults: Fault[] = []
  const lookUp = async (host: string) => {
    const found = await db.one<{ account: string }>(sql`select account_of(${storeId}) as account`)
    return resolve(host, found?.account)
  }
  await checkHost(lookUp, url, allowPrivate, faults)
  if (faults.length > 0) failInput(faults)
}

/** Under the store's lock, so that two requests cannot both take the last place. */
async function checkRoom(tx: Db, { maxWebhooksPerStore: max }: Instance, storeId: string): Promise<void> {
  const held = await tx.query(sql`select id from webhooks where store_id = ${storeId}`)
  if (held.length >= max)
    fail('limit_exceeded', {
      detail: `A store can have at most ${max} webhooks. Delete one that is no longer used.`,
    })
}

function newRow(caller: Manager, storeId: string, wanted: WebhookSpec): WebhookRow {
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

/** Of the URL only the host: people put secrets into paths and queries. */
function shownInEvents(row: Pick<WebhookRow, 'url' | 'types' | 'description'>) {
  return { host: new URL(row.url).host, types: row.types, description: row.description }
}

// ---- list and read ----------------------------------------------------------------------------------------------------

export async function listWebhooks(
  db: Db,
  instance: Instance,
  storeId: string,
  query: PageParams & { createdBy?: string },
): Promise<Page<Webhook>> {
  const at = now()
  const show = (row: WebhookRow) => showWebhook(row, at)
  return listPage({
    keyring: instance.keyring,
    list: ['webhooks', storeId, query.createdBy],
    query,
    read: ({ after, take }) =>
      db.query<WebhookRow>(sql`
        select ${columns}
          from webhooks
         where store_id = ${storeId}
           and id < ${after}
           and (${query.createdBy ?? null}::text is null or created_by_id = ${query.createdBy ?? null})
         order by id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show,
  })
}

export async function readWebhook(db: Db, ref: WebhookRef): Promise<Answer<Webhook>> {
  const row = await findWebhook(db, ref)
  return { body: showWebhook(row, now()), etag: etagOf(row.revision) }
}

export async function findWebhook(db: Db, ref: WebhookRef): Promise<WebhookRow> {
  const row = await db.one<WebhookRow>(sql`
    select ${columns}
      from webhooks
     where id = ${ref.webhookId}
       and store_id = ${ref.storeId}`)
  return row ?? fail('webhook_not_found')
}

// ---- change -----------------------------------------------------------------------------------------------------------

export async function changeWebhook(
  db: Db,
  instance: Instance,
  caller: Manager,
  ref: WebhookRef,
  changes: WebhookPatch,
  ifMatch: string | null,
): Promise<Answer<Webhook>> {
  checkBounds(caller, 'webhook')
  if (changes.url !== undefined) await refusePrivateHost(db, instance, ref.storeId, changes.url)
  return inStore(db, caller, ref.storeId, async (tx) => {
    await lockStoreAndRecheck(tx, caller, ref.storeId)
    const before = await lockWebhook(tx, ref)
    checkIfMatch(ifMatch, before.revision)
    const after = { ...before, ...changes }
    const changed = CHANGEABLE.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    if (changed.length === 0) return { body: showWebhook(before, now()), etag: etagOf(before.revision) }
    const fields = sql`url = ${after.url}, types = ${after.types}, description = ${after.description}`
    const updated = newEvent(caller, ref.storeId, 'webhook.updated', ref.webhookId, {
      from: { ...shownInEvents(before), enabled: before.enabled },
      to: { ...shownInEvents(after), enabled: after.enabled },
      ...(changed.includes('url') ? { urlChanged: true } : {}),
    })
    const isSwitchedOff = before.enabled && !after.enabled
    const rows = isSwitchedOff
      ? await disableWebhooks(tx, caller, sql`id = ${ref.webhookId}`, 'REQUESTED', { fields, events: [updated] })
      : await updateWebhook(tx, ref, fields, after.enabled, updated)
    const [row] = rows as [WebhookRow] // it is locked, so it is there
    return { body: showWebhook(row, row.updated_at), etag: etagOf(row.revision) }
  })
}

const CHANGEABLE = ['url', 'types', 'description', 'enabled'] as const

/** A webhook that is switched on again starts without its failures. */
async function updateWebhook(tx: Db, ref: WebhookRef, fields: Sql, enabled: boolean, event: EventRow) {
  const rows = await tx.query<WebhookRow>(sql`
    update webhooks
       set ${fields}, enabled = ${enabled},
           disabled_at = case when enabled = ${enabled} then disabled_at end,
           disabled_reason = case when enabled = ${enabled} then disabled_reason end,
           failing_since = case when enabled = ${enabled} then failing_since end,
           revision = revision + 1, updated_at = ${now()}
     where id = ${ref.webhookId}
 returning ${columns}`)
  await writeEvents(tx, [event])
  return rows
}

async function lockWebhook(tx: Db, ref: WebhookRef): Promise<WebhookRow> {
  const row = await tx.one<WebhookRow>(sql`
    select ${columns}
      from webhooks
     where id = ${ref.webhookId}
       and store_id = ${ref.storeId}
       for no key update`)
  return row ?? fail('webhook_not_found')
}

// ---- rotate -----------------------------------------------------------------------------------------------------------

/** A new secret. The previous one signs too until its grace period ends; an older one ends now, so there are at most two. */
export async function rotateWebhook(
  tx: Db,
  instance: Instance,
  caller: Manager,
  ref: WebhookRef,
  gracePeriodSeconds: number,
): Promise<Answer<Webhook & { secret: string }>> {
  checkBounds(caller, 'webhook')
  const before = await lockWebhook(tx, ref)
  const at = now()
  const { secret, kept } = mintSigningSecret(instance.keyring, ref.webhookId)
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
     where id = ${ref.webhookId}`)
  await destroyReplayableSecrets(tx, [ref.webhookId])
  await writeEvents(tx, [
    newEvent(caller, ref.storeId, 'webhook.rotated', ref.webhookId, { gracePeriodSeconds, previousExpiresAt: end }),
  ])
  return withSecret(after, secret.reveal())
}

// ---- delete -----------------------------------------------------------------------------------------------------------

export async function deleteWebhook(tx: Db, caller: Manager, ref: WebhookRef, ifMatch: string | null): Promise<void> {
  const row = await lockWebhook(tx, ref)
  checkIfMatch(ifMatch, row.revision)
  await tx.query(sql`delete from webhooks where id = ${ref.webhookId}`)
  await destroyReplayableSecrets(tx, [ref.webhookId])
  await writeEvents(tx, [newEvent(caller, ref.storeId, 'webhook.deleted', ref.webhookId, shownInEvents(row))])
}

// ---- disable ----------------------------------------------------------------------------------------------------------

type DisabledReason = NonNullable<WebhookRow['disabled_reason']>

/**
 * Switches off those of the webhooks that are on: the one way in which this happens. `fields` are changed in the same
 * statement, and `events`, of what else changed, come before those of the switching off. The webhooks that are switched
 * off are not sent any of these events.
 */
async function disableWebhooks(
  tx: Db,
  actor: Actor,
  which: Sql,
  reason: DisabledReason,
  { fields, events = [] }: { fields?: Sql; events?: EventRow[] } = {},
): Promise<WebhookRow[]> {
  const at = now()
  const rows = await tx.query<WebhookRow>(sql`
    update webhooks
       set ${fields ? sql`${fields},` : sql``} enabled = false, disabled_at = ${at}, disabled_reason = ${reason},
           revision = revision + 1, updated_at = ${at}
     where enabled
       and ${which}
 returning ${columns}`)
  const disabled = rows.map(({ id, store_id, failing_since }) => {
    const data = reason === 'REQUESTED' ? { reason } : { reason, failingSince: failing_since }
    return newEvent(actor, store_id, 'webhook.disabled', id, data)
  })
  await writeEvents(tx, [...events, ...disabled])
  return rows
}

/** When whoever made these webhooks goes: they are switched off or stay as they are. The newest first, as they are then. */
export async function settleWebhooks(
  tx: Db,
  actor: Actor,
  ids: string[],
  cascade: 'keep' | 'disable',
): Promise<WebhookRow[]> {
  if (ids.length === 0) return []
  if (cascade === 'disable') await disableWebhooks(tx, actor, sql`id = any(${ids})`, 'REQUESTED')
  return tx.query<WebhookRow>(sql`
    select ${columns}
      from webhooks
     where id = any(${ids})
     order by id desc`)
}

/** Unless the webhook was changed since the request that failed, or a message has arrived meanwhile. */
export async function disableAfterFailure(
  db: Db,
  webhookId: string,
  revision: number,
  reason: 'GONE' | 'FAILING',
): Promise<void> {
  const which = sql`
    id = ${webhookId}
       and revision = ${revision}
       and (${reason === 'GONE'} or failing_since <= ${ago(FAILING_MS)})`
  await db.transaction((tx) => disableWebhooks(tx, SYSTEM, which, reason))
}
