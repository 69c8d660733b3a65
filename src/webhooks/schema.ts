// A webhook and its deliveries, as they look from outside. Only the answers that make a secret carry it.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import { Event } from '../events/schema.ts'
import { ActorOf, CreatedAt, DateTime, Id, Line, Nullable, OneOf, StoreId, UpdatedAt } from '../schema/fields.ts'
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
    description:
      'Where messages are sent: an `https:` URL on the public internet. For development, the operator can allow private addresses with `WEBHOOK_ALLOW_PRIVATE`.',
    examples: ['https://shop.example/hooks'],
  }),
  types: Type.Array(Type.String({ maxLength: 100 }), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'The events to send: exact types, prefixes such as `key.*`, or `*` for all events.',
    examples: [['key.*', 'address.created']],
  }),
  description: Nullable(Line(1, 200, { description: 'What the webhook is for.', examples: ['The warehouse'] })),
}

export const Webhook = Type.Object(
  {
    id: Id('wh', 'The id of the webhook.'),
    storeId: StoreId,
    ...input,
    enabled: Type.Boolean({ description: 'Whether messages are sent.' }),
    disabledAt: Nullable(DateTime({ description: 'When it was disabled. `null` if it is enabled.' })),
    disabledReason: Nullable(
      OneOf(DISABLED_REASONS, {
        description:
          'Why it is disabled. `REQUESTED`: a caller disabled it. `GONE`: the receiver responded with 410. `FAILING`: every attempt failed for 5 days.',
      }),
    ),
    failingSince: Nullable(
      DateTime({ description: 'Since when every attempt has failed. `null`: the last one succeeded.' }),
    ),
    createdAt: CreatedAt,
    createdBy: ActorOf(['user', 'key', 'service', 'system'], 'Who created the webhook.'),
    updatedAt: UpdatedAt,
    rotation: Nullable(
      Type.Object(
        { previousExpiresAt: DateTime({ description: 'When messages stop being signed with the previous secret.' }) },
        { ...closed, description: 'Set while messages are also signed with the previous secret; otherwise `null`.' },
      ),
    ),
  },
  { title: 'Webhook', description: 'A webhook, without its secret.', ...closed },
)
export type Webhook = Static<typeof Webhook>
export const Webhooks = pageOf(Webhook, 'Webhooks')

export const WebhookWithSecret = Type.Object(
  {
    ...Webhook.properties,
    secret: Type.String({
      description: 'The secret to verify signatures with. Store it now: it is not shown again.',
      examples: ['whsec_…'],
    }),
  },
  { title: 'WebhookWithSecret', description: 'A webhook with its secret, which is shown only once.', ...closed },
)

export const NewWebhook = Type.Object(
  { url: input.url, types: input.types, description: Type.Optional(input.description) },
  { title: 'NewWebhook', description: 'A webhook to create.', ...closed },
)
export type NewWebhook = Static<typeof NewWebhook>

export const WebhookChanges = Type.Partial(Type.Object({ ...input, enabled: Webhook.properties.enabled }), {
  title: 'WebhookChanges',
  description: 'Changes to a webhook. Fields that are left out keep their value.',
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
        description: 'How long messages are also signed with the old secret: one day by default, at most 7 days.',
      }),
    ),
  },
  { title: 'WebhookRotation', description: 'How to rotate the secret.', ...closed },
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
  { title: 'WebhookMessage', description: 'The body of a message to a webhook.', ...closed },
)

// ---- deliveries -------------------------------------------------------------------------------------------------------

export const Delivery = Type.Object(
  {
    id: Id('dlv', 'The id of the delivery.'),
    webhookId: Id('wh', 'The id of the webhook.'),
    eventId: Id('evt', 'The id of the event. Sent as `webhook-id`, the same for every attempt.'),
    type: Type.String({ description: 'The type of the event.', examples: ['key.created'] }),
    cause: OneOf(CAUSES, {
      description:
        'Why it was sent. `EVENT`: the event happened. `TEST`: a test message. `REDELIVERY`: somebody asked for it again.',
    }),
    status: OneOf(DELIVERY_STATUSES, {
      description:
        '`PENDING`: not delivered yet; see `nextAttemptAt`. `DELIVERED`: the receiver accepted it. `FAILED`: it is not retried automatically.',
    }),
    attempts: Type.Integer({ description: 'How many attempts were made.' }),
    responseStatus: Nullable(
      Type.Integer({ description: 'The HTTP status of the last attempt. `null` if there was no response.' }),
    ),
    responseBody: Nullable(Type.String({ description: 'The first kilobyte of that response.' })),
    error: Nullable(
      Type.String({
        description:
          'Why there was no response: `timeout`, `forbidden_address`, `unknown_host`, `connection_failed`, `tls_failed`, or `secret_unreadable`.',
      }),
    ),
    durationMs: Nullable(Type.Integer({ description: 'How long the last attempt took, in milliseconds.' })),
    createdAt: CreatedAt,
    lastAttemptAt: Nullable(DateTime({ description: 'When the last attempt was made. `null`: none yet.' })),
    nextAttemptAt: Nullable(DateTime({ description: 'When the next attempt is due. `null`: there is none.' })),
  },
  { title: 'Delivery', description: 'A message to a webhook, and the result of sending it.', ...closed },
)
export type Delivery = Static<typeof Delivery>
export const Deliveries = pageOf(Delivery, 'Deliveries')

export const Redelivery = Type.Object(
  {
    from: DateTime({ description: 'The start of the period. Included.' }),
    to: DateTime({ description: 'The end of the period. Not included.' }),
  },
  { title: 'Redelivery', ...closed, description: 'The period whose events to send again.' },
)

export const Redelivered = Type.Object(
  {
    deliveries: Type.Integer({ description: 'The number of events that are being sent again.' }),
    nextFrom: Nullable(
      DateTime({ description: 'If there are more events, the `from` to continue with. `null`: that was all.' }),
    ),
  },
  { title: 'Redelivered', description: 'How many events are being sent again.', ...closed },
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
