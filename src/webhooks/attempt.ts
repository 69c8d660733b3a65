// One attempt to deliver a message: the signed request, and what its result means for the delivery and for the webhook.

import type { Tracer } from '@opentelemetry/api'
import { ago, now } from '../core/clock.ts'
import { withDeliverySpan } from './delivery-span.ts'
import type { Endpoint } from './endpoints.ts'
import type { DeliveryOutcome, Message } from './outbox.ts'
import { FAILING_MS, nextTry } from './retry-schedule.ts'
import type { DeliveryError, Reply, Sender } from './sender.ts'
import { signedHeaders } from './signature.ts'

/** Null when the request was broken off because the sender is closing. */
export async function attempt(
  sender: Sender,
  endpoint: Endpoint,
  message: Message,
  tracer: Tracer | null,
): Promise<DeliveryOutcome | null> {
  const at = now()
  const began = performance.now()
  const result = await post(sender, endpoint, message, at, tracer)
  return result && outcomeOf(message, at, Math.round(performance.now() - began), result)
}

async function post(
  sender: Sender,
  { url, secrets, account }: Endpoint,
  message: Message,
  at: Date,
  tracer: Tracer | null,
) {
  if (secrets.length === 0) return { error: 'secret_unreadable' as const }
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Storekeeper-Webhooks/1',
    ...signedHeaders(secrets, message.event_id, at, message.body),
  }
  const send = (all: Record<string, string>) => sender.post(url, all, message.body, account)
  if (!tracer) return send(headers)
  return withDeliverySpan(tracer, url, message, (traced) => send({ ...traced, ...headers }))
}

function outcomeOf(
  message: Message,
  at: Date,
  durationMs: number,
  result: Reply | { error: DeliveryError },
): DeliveryOutcome {
  const { webhook_id, id, cause } = message
  const attempts = message.attempts + 1
  const reply = 'error' in result ? null : result
  const delivered = reply !== null && reply.status >= 200 && reply.status < 300
  const over = delivered || cause === 'TEST'
  const next = over ? null : nextTry(attempts, now(), reply?.retryAfter ?? null, Math.random())
  return {
    webhook_id,
    id,
    status: delivered ? 'DELIVERED' : next ? 'PENDING' : 'FAILED',
    attempts,
    at,
    next_attempt_at: next,
    duration_ms: durationMs,
    response_status: reply?.status ?? null,
    response_body: reply?.body ?? null,
    error: 'error' in result ? result.error : null,
  }
}

export function reasonToDisable({ failingSince }: Endpoint, outcome: DeliveryOutcome): 'GONE' | 'FAILING' | null {
  if (outcome.response_status === 410) return 'GONE'
  const failing = outcome.status !== 'DELIVERED' && failingSince !== null && failingSince <= ago(FAILING_MS)
  return failing ? 'FAILING' : null
}
