// A span for each attempt to deliver to a webhook, by OpenTelemetry's conventions for HTTP clients, told to the receiver as
// `traceparent`. It begins a trace of its own: the request that caused the event is long answered.

import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { Message } from './outbox.ts'
import type { DeliveryError, Reply } from './sender.ts'

type Result = Reply | { error: DeliveryError } | null

/** `post` gets the headers that tell of the span. */
export async function withDeliverySpan(
  tracer: Tracer,
  url: string,
  message: Message,
  post: (headers: Record<string, string>) => Promise<Result>,
): Promise<Result> {
  const { origin, protocol, hostname, port } = new URL(url)
  const span = tracer.startSpan(
    'POST',
    {
      kind: SpanKind.CLIENT,
      attributes: {
        'http.request.method': 'POST',
        'server.address': hostname,
        'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
        // A receiver's path and query may be its secret.
        'url.full': `${origin}/REDACTED`,
        ...(message.attempts > 0 ? { 'http.request.resend_count': message.attempts } : {}),
        'storekeeper.webhook.id': message.webhook_id,
        'storekeeper.event.id': message.event_id,
        'storekeeper.event.type': message.type,
      },
    },
    ROOT_CONTEXT,
  )
  const own = trace.setSpan(ROOT_CONTEXT, span)
  const headers: Record<string, string> = {}
  propagation.inject(own, headers)
  try {
    const result = await context.with(own, post, undefined, headers)
    const failure = failureOf(result)
    if (result && 'status' in result) span.setAttribute('http.response.status_code', result.status)
    if (failure !== null) {
      span.setAttribute('error.type', failure)
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    return result
  } finally {
    span.end()
  }
}

/** For a client every 4xx is an error, too. */
function failureOf(result: Result): string | null {
  if (result === null) return null
  if ('error' in result) return result.error
  return result.status >= 400 ? String(result.status) : null
}
