// The routes of webhooks.

import { PageQuery } from '../core/pagination.ts'
import { type Route, route } from '../core/route.ts'
import { OneOf } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import { listDeliveries, readDelivery, redeliver, redeliverSpan, sendTest } from './deliveries.ts'
import { parseNewWebhook, parseSpan, parseWebhookChanges } from './input.ts'
import {
  DELIVERY_STATUSES,
  Deliveries,
  Delivery,
  NewWebhook,
  Redelivered,
  Redelivery,
  Webhook,
  WebhookChanges,
  WebhookRotation,
  Webhooks,
  WebhookWithSecret,
} from './schema.ts'
import { changeWebhook, createWebhook, deleteWebhook, listWebhooks, readWebhook, rotateWebhook } from './webhooks.ts'

const WEBHOOKS = '/v1/user/store/:storeId/webhooks'
const DAY_SECONDS = 86_400
const needs = 'MANAGE_WEBHOOKS'

export const webhookRoutes: Route[] = [
  route(
    {
      id: 'webhooks.create',
      method: 'POST',
      path: WEBHOOKS,
      needs,
      summary: 'Create a webhook',
      description:
        'From now on what happens in the store is sent to the URL, signed as Standard Webhooks says. A key with an end, an allow-list or a rate limit makes, changes and rotates none. The answer carries the `secret` to check signatures with: it is shown once, here, and never again. Should the answer be lost on its way, send the same request with the same `Idempotency-Key` within the hour.',
      body: NewWebhook,
      parse: parseNewWebhook,
      returns: [201, WebhookWithSecret],
      etag: true,
      errors: ['cannot_grant', 'limit_exceeded', 'secret_no_longer_available'],
      revealsSecret: true,
      effect: 'own',
      access: 'unchanged',
      example: { body: { url: 'https://shop.example/hooks', types: ['key.*'], description: 'The warehouse' } },
    },
    ({ db, instance, caller, params, body, idempotency }) =>
      createWebhook(db, instance, caller, params.storeId, body, idempotency),
  ),
  route(
    {
      id: 'webhooks.list',
      method: 'GET',
      path: WEBHOOKS,
      needs,
      summary: 'List the webhooks',
      description: 'Newest first, without their secrets.',
      query: Type.Object(
        {
          ...PageQuery,
          createdBy: Type.Optional(
            Type.String({ maxLength: 100, description: 'Only webhooks that the user or key with this id made.' }),
          ),
        },
        { additionalProperties: false },
      ),
      returns: [200, Webhooks],
      example: { query: 'limit=10' },
    },
    async ({ db, instance, params, query }) => ({ body: await listWebhooks(db, instance, params.storeId, query) }),
  ),
  route(
    {
      id: 'webhooks.read',
      method: 'GET',
      path: `${WEBHOOKS}/:webhookId`,
      needs,
      summary: 'Read a webhook',
      description: 'The record, without its secret.',
      returns: [200, Webhook],
      etag: true,
      errors: ['webhook_not_found'],
    },
    ({ db, params }) => readWebhook(db, params),
  ),
  route(
    {
      id: 'webhooks.update',
      method: 'PATCH',
      path: `${WEBHOOKS}/:webhookId`,
      needs,
      summary: 'Change a webhook',
      description:
        'What is left out stays as it is. `"enabled": false` stops it: what happens meanwhile is not collected, and what was waiting waits. `"enabled": true` sets it going again, also after we have switched it off.',
      body: WebhookChanges,
      parse: parseWebhookChanges,
      returns: [200, Webhook],
      etag: true,
      errors: ['webhook_not_found', 'cannot_grant', 'precondition_failed'],
      effect: 'own',
      access: 'unchanged',
      example: { body: { types: ['*'], description: null } },
    },
    ({ db, instance, caller, params, body, ifMatch }) => changeWebhook(db, instance, caller, params, body, ifMatch),
  ),
  route(
    {
      id: 'webhooks.delete',
      method: 'DELETE',
      path: `${WEBHOOKS}/:webhookId`,
      needs,
      summary: 'Delete a webhook',
      description: 'Nothing more is sent to it, and what is known of its deliveries goes with it.',
      returns: [204, null],
      errors: ['webhook_not_found', 'precondition_failed'],
      access: 'unchanged',
    },
    async ({ db, caller, params, ifMatch }) => {
      await deleteWebhook(db, caller, params, ifMatch)
      return { body: null }
    },
  ),
  route(
    {
      id: 'webhooks.rotate',
      method: 'POST',
      path: `${WEBHOOKS}/:webhookId/rotate`,
      needs,
      summary: "Rotate a webhook's secret",
      description:
        'Gives the webhook a new secret, shown once, in this answer. For the grace period every message carries two signatures, one with each secret, so that you can change yours at leisure. Rotating again within it ends the older secret at once.',
      body: WebhookRotation,
      bodyOptional: true,
      returns: [200, WebhookWithSecret],
      etag: true,
      errors: ['webhook_not_found', 'cannot_grant', 'secret_no_longer_available'],
      revealsSecret: true,
      access: 'unchanged',
      example: { body: { gracePeriodSeconds: 3600 } },
    },
    ({ db, instance, caller, params, body }) =>
      rotateWebhook(db, instance, caller, params, body.gracePeriodSeconds ?? DAY_SECONDS),
  ),
  route(
    {
      id: 'webhooks.test',
      method: 'POST',
      path: `${WEBHOOKS}/:webhookId/test`,
      needs,
      summary: 'Send a test message',
      description:
        'Sends a message of the type `webhook.test`, whatever the webhook listens to, and tries once. Read the delivery to see how it went.',
      returns: [201, Delivery],
      errors: ['webhook_not_found', 'webhook_disabled', 'limit_exceeded'],
      access: 'unchanged',
    },
    ({ db, params }) => sendTest(db, params),
  ),
  route(
    {
      id: 'webhooks.redeliver',
      method: 'POST',
      path: `${WEBHOOKS}/:webhookId/redeliver`,
      needs,
      summary: 'Send what happened in a time again',
      description:
        'Everything that happened between `from` and `to`, 31 days at most, and is of a type the webhook listens to, whether or not it was sent before; each under the `webhook-id` it always had. What happened in the last five seconds may be missing. At most 1,000 events at once: while `nextFrom` is not `null`, ask again from there.',
      body: Redelivery,
      parse: parseSpan,
      returns: [200, Redelivered],
      errors: ['webhook_not_found', 'webhook_disabled', 'limit_exceeded'],
      access: 'unchanged',
      example: { body: { from: '2027-01-31T12:00:00Z', to: '2027-01-31T13:00:00Z' } },
    },
    async ({ db, params, body }) => ({ body: await redeliverSpan(db, params, body) }),
  ),
  route(
    {
      id: 'deliveries.list',
      method: 'GET',
      path: `${WEBHOOKS}/:webhookId/deliveries`,
      needs,
      summary: 'List the deliveries',
      description: 'What was sent to the webhook in the last 30 days and how it went, newest first.',
      query: Type.Object(
        {
          ...PageQuery,
          status: Type.Optional(OneOf(DELIVERY_STATUSES, { description: 'Only deliveries with this status.' })),
        },
        { additionalProperties: false },
      ),
      returns: [200, Deliveries],
      errors: ['webhook_not_found'],
      example: { query: 'status=FAILED' },
    },
    async ({ db, instance, params, query }) => ({ body: await listDeliveries(db, instance, params, query) }),
  ),
  route(
    {
      id: 'deliveries.read',
      method: 'GET',
      path: `${WEBHOOKS}/:webhookId/deliveries/:deliveryId`,
      needs,
      summary: 'Read a delivery',
      description: 'How it went so far, and when it is tried next.',
      returns: [200, Delivery],
      errors: ['webhook_not_found', 'delivery_not_found'],
    },
    ({ db, params }) => readDelivery(db, params),
  ),
  route(
    {
      id: 'deliveries.redeliver',
      method: 'POST',
      path: `${WEBHOOKS}/:webhookId/deliveries/:deliveryId/redeliver`,
      needs,
      summary: 'Send a delivery again',
      description: 'The same message under the same `webhook-id`, as a delivery of its own.',
      returns: [201, Delivery],
      errors: ['webhook_not_found', 'delivery_not_found', 'webhook_disabled', 'limit_exceeded'],
      access: 'unchanged',
    },
    ({ db, params }) => redeliver(db, params),
  ),
]
