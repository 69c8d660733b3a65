// A webhook and its deliveries, as they look from outside. Only the answers that make a secret carry it.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import { Event } from '../events/schema.ts'
import { DateTime, Line, Nullable, OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }

const DISABLED_REASONS = ['REQUESTED', 'GONE', 'FAILING'] as const
export const DELIVERY_STATUSES = ['PENDING', 'DELIVERED', 'FAILED'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]
const CAUSES = ['EVENT', 'TEST', 'REDELIVERY'] as const
export type Cause = (typeof CAUSES)[number]

/** The fields that a caller sets. */
const input = {
  url: Type.String({
    maxLength: 2048,
    description: 'Where messages are sent. `https:`, on the public internet.',
    examples: ['https://shop.example/hooks'],
  }),
  types: Type.Array(Type.String({ maxLength: 100 }), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description:
      'Which events are sent: by their type, by the beginning of it such as `key.*`, or all of them with `*`.',
    examples: [['key.*', 'address.created']],
  }),
  description: Nullable(Line(1, 200, { examples: ['The warehouse'] })),
}

export const Webhook = Type.Object(
  {
    id: Type.String({ examples: ['wh_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    storeId: Type.String(),
    ...input,
    enabled: Type.Boolean(),
    disabledAt: Nullable(DateTime()),
    disabledReason: Nullable(
      OneOf(DISABLED_REASONS, {
        description: '`REQUESTED` by a caller; `GONE`: it answered 410; `FAILING`: nothing got through for 5 days.',
      }),
    ),
    failingSince: Nullable(DateTime({ description: 'Since when every try has failed.' })),
    createdAt: DateTime(),
    createdBy: Type.Object({ kind: OneOf(['user', 'key', 'service', 'system']), id: Type.String() }, closed),
    updatedAt: DateTime(),
    rotation: Nullable(
      Type.Object({ previousExpiresAt: DateTime() }, { ...closed, description: 'While the secret before signs too.' }),
    ),
  },
  { title: 'Webhook', ...closed },
)
export type Webhook = Static<typeof Webhook>
export const Webhooks = pageOf(Webhook, 'Webhooks')

export const WebhookWithSecret = Type.Object(
  {
    ...Webhook.properties,
    secret: Type.String({
      description: 'To check signatures with. Shown in this answer, and never again.',
      examples: ['whsec_…'],
    }),
  },
  { title: 'WebhookWithSecret', ...closed },
)

export const NewWebhook = Type.Object(
  { url: input.url, types: input.types, description: Type.Optional(input.description) },
  { title: 'NewWebhook', ...closed },
)
export type NewWebhook = Static<typeof NewWebhook>

export const WebhookChanges = Type.Partial(Type.Object({ ...input, enabled: Type.Boolean() }), {
  title: 'WebhookChanges',
  ...closed,
})
export type WebhookChanges = Static<typeof WebhookChanges>

export const WebhookRotation = Type.Object(
  {
    gracePeriodSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'How long messages are signed with the old secret too: a day when left out, 7 days at most.',
      }),
    ),
  },
  { title: 'WebhookRotation', ...closed },
)

/** The message that is sent: the event, without its actor's address and credential. */
const event = Event.properties
export const WebhookMessage = Type.Object(
  {
    type: event.type,
    timestamp: event.at,
    id: event.id,
    storeId: event.storeId,
    actor: Type.Pick(event.actor, ['kind', 'id'], { ...closed, description: 'Who did it.' }),
    subject: event.subject,
    data: event.data,
  },
  { title: 'WebhookMessage', ...closed },
)

// ---- deliveries -------------------------------------------------------------------------------------------------------

export const Delivery = Type.Object(
  {
    id: Type.String({ examples: ['dlv_01k9wz3v5e8tvs8v4m8m3v5yqd'] }),
    webhookId: Type.String(),
    eventId: Type.String({ description: 'Sent as `webhook-id`, the same at every try.' }),
    type: Type.String({ examples: ['key.created'] }),
    cause: OneOf(CAUSES),
    status: OneOf(DELIVERY_STATUSES, { description: '`FAILED`: it is not tried again by itself.' }),
    attempts: Type.Integer(),
    responseStatus: Nullable(Type.Integer({ description: 'Of the last try; `null` when there was no answer.' })),
    responseBody: Nullable(Type.String({ description: 'The first kilobyte of that answer.' })),
    error: Nullable(
      Type.String({
        description:
          'Why there was no answer: `timeout`, `forbidden_address`, `unknown_host`, `connection_failed`, `tls_failed`, or `secret_unreadable`.',
      }),
    ),
    durationMs: Nullable(Type.Integer({ description: 'How long the last try took.' })),
    createdAt: DateTime(),
    lastAttemptAt: Nullable(DateTime()),
    nextAttemptAt: Nullable(DateTime()),
  },
  { title: 'Delivery', ...closed },
)
export type Delivery = Static<typeof Delivery>
export const Deliveries = pageOf(Delivery, 'Deliveries')

export const Redelivery = Type.Object(
  { from: DateTime(), to: DateTime() },
  { title: 'Redelivery', ...closed, description: 'Events that happened at `from` or later, and before `to`.' },
)

export const Redelivered = Type.Object(
  {
    deliveries: Type.Integer({ description: 'How many events are being sent again.' }),
    nextFrom: Nullable(DateTime({ description: 'There is more: ask again from here. `null` when that was all.' })),
  },
  { title: 'Redelivered', ...closed },
)

// ---- from rows to what is shown -----------------------------------------------------------------------------------------

export type WebhookRow = {
  id: string
  store_id: string
  url: string
  types: string[]
  description: string | null
  enabled: boolean
  disabled_at: Date | null
  disabled_reason: (typeof DISABLED_REASONS)[number] | null
  failing_since: Date | null
  previous_expires_at: Date | null
  created_by_kind: Webhook['createdBy']['kind']
  created_by_id: string
  revision: number
  created_at: Date
  updated_at: Date
}

export function showWebhook(row: WebhookRow, at: Date): Webhook {
  const end = row.previous_expires_at
  return {
    id: row.id,
    storeId: row.store_id,
    url: row.url,
    types: row.types,
    description: row.description,
    enabled: row.enabled,
    disabledAt: row.disabled_at?.toISOString() ?? null,
    disabledReason: row.disabled_reason,
    failingSince: row.failing_since?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    updatedAt: row.updated_at.toISOString(),
    rotation: end !== null && end > at ? { previousExpiresAt: end.toISOString() } : null,
  }
}

export type DeliveryRow = {
  webhook_id: string
  id: string
  event_id: string
  type: string
  cause: Cause
  status: DeliveryStatus
  attempts: number
  next_attempt_at: Date | null
  last_attempt_at: Date | null
  duration_ms: number | null
  response_status: number | null
  response_body: string | null
  error: string | null
  created_at: Date
}

export function showDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    type: row.type,
    cause: row.cause,
    status: row.status,
    attempts: row.attempts,
    responseStatus: row.response_status,
    responseBody: row.response_body,
    error: row.error,
    durationMs: row.duration_ms,
    createdAt: row.created_at.toISOString(),
    lastAttemptAt: row.last_attempt_at?.toISOString() ?? null,
    nextAttemptAt: row.next_attempt_at?.toISOString() ?? null,
  }
}
