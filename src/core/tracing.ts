// Spans of OpenTelemetry: requests (http/request-spans.ts), batches (db/batch-span.ts) and webhook deliveries
// (webhooks/delivery-span.ts). The service knows the API alone. Whether an SDK is there, which the operator loads before
// the service (docs/operations.md, "Traces"), is asked once, at the start: without one there is no tracer, and no code of
// these files runs.
//
// A span tells nothing that the log would not tell: no header, no body, no query, no credential, no id out of a path.

import { ProxyTracerProvider, type Tracer, trace } from '@opentelemetry/api'
import { VERSION } from './version.ts'

const NAME = 'storekeeper'

/** Null when no SDK has been registered. */
export function findTracer(): Tracer | null {
  const provider = trace.getTracerProvider()
  const isRegistered = !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(NAME) !== undefined
  return isRegistered ? provider.getTracer(NAME, VERSION) : null
}
