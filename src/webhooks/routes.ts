// The routes of webhooks.

import { checkBounds } from '../auth/bounds.ts'
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
        'From now on, events of the store are sent to the URL, signed according to Standard Webhooks. The response has the `secret` to verify signatures with. It is shown only once; if the response is lost, send the same request with the same `Idempotency-Key` within an hour. A key with an expiry, an allowlist or a rate limit cannot create, change or rotate webhooks.',
      body: NewWebhook,
      parse: parseNewWebhook,
      returns: [201, WebhookWithSecret],
      etag: true,
      errors: ['cannot_grant', 'limit_exceeded', 'secret_no_longer_available'],
      revealsSecret: true,
      checkReplay: ({ caller }) => checkBounds(caller, 'webhook'),
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
            Type.String({ maxLength: 100, description: 'Only webhooks that the user or key with this id created.' }),
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
        'Fields that are left out keep their value. `"enabled": false` disables the webhook: new events are not queued for it, and pending messages keep waiting. `"enabled": true` enables it again, even if the service disabled it.',
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
      description: 'Nothing more is sent to it, and the record of its deliveries is deleted.',
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
        'Gives the webhook a new secret, which is shown only once. During the grace period every message has two signatures, one with each secret, so that you can switch without losing messages. Rotating again during the grace period ends the older secret immediately.',
      body: WebhookRotation,
      bodyOptional: true,
      returns: [200, WebhookWithSecret],
      etag: true,
      errors: ['webhook_not_found', 'cannot_grant', 'secret_no_longer_available'],
      revealsSecret: true,
      checkReplay: ({ caller }) => checkBounds(caller, 'webhook'),
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
        'Sends a message of type `webhook.test`, whatever types the webhook is subscribed to. There is only one attempt. Read the delivery to see the result.',
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
      summary: 'Send the events of a period again',
      description:
        'Sends every event between `from` and `to`, at most 31 days, whose type the webhook is subscribed to, whether or not it was sent before, and with the same `webhook-id`. Events of the last five seconds may be missing. One request sends at most 1,000 events: while `nextFrom` is not `null`, repeat the request from there.',
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
      description: 'What was sent to the webhook in the last 30 days, and with what result, newest first.',
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
      description: 'The result so far, and when the next attempt is due.',
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
      description: 'Sends the same message with the same `webhook-id`, as a new delivery.',
      returns: [201, Delivery],
      errors: ['webhook_not_found', 'delivery_not_found', 'webhook_disabled', 'limit_exceeded'],
      access: 'unchanged',
    },
    ({ db, params }) => redeliver(db, params),
  ),
]
