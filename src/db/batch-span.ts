// A span for each batch that serves a request whose trace is recorded. It stands in the trace of the first of them and is
// linked to the others: a span has one parent.

import {
  type Context,
  context,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { Failure } from '../core/errors.ts'
import { outageCode } from './errors.ts'

/** Told by a batch that fails. */
export type OnBatchFailure = (error: unknown) => void

/** `askers` are the contexts of the requests, one for each row. */
export async function withBatchSpan(
  tracer: Tracer,
  name: string,
  askers: Context[],
  run: (failed: OnBatchFailure) => Promise<void>,
): Promise<void> {
  const [first, ...others] = askers.filter(isRecorded)
  if (!first) return run(() => {})
  const span = tracer.startSpan(
    `BATCH ${name}`,
    {
      kind: SpanKind.CLIENT,
      attributes: {
        'db.system.name': 'postgresql',
        'db.operation.name': name,
        // One row is no batch, by the conventions.
        ...(askers.length > 1 ? { 'db.operation.batch.size': askers.length } : {}),
      },
      links: others.flatMap((asker) => trace.getSpanContext(asker) ?? []).map((linked) => ({ context: linked })),
    },
    first,
  )
  await context.with(trace.setSpan(first, span), run, undefined, (error: unknown) => {
    span.setAttribute('error.type', errorTypeOf(error))
    span.setStatus({ code: SpanStatusCode.ERROR })
  })
  span.end()
}

function isRecorded(asker: Context): boolean {
  const found = trace.getSpanContext(asker)
  return found !== undefined && isSpanContextValid(found) && (found.traceFlags & TraceFlags.SAMPLED) !== 0
}

/** The SQLSTATE, or the name of the error: never its message, which may hold what a caller sent. */
function errorTypeOf(error: unknown): string {
  if (error instanceof Failure) return outageCode(error)
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name)
}
