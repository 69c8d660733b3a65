import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { expect, onTestFinished, test } from 'vitest'
import { NEW_KEY, shop } from '../../tests/shop.ts'
import { receiver } from '../../tests/webhook-receiver.ts'
import { Failure } from '../core/errors.ts'
import { findTracer } from '../core/tracing.ts'
import { withBatchSpan } from '../db/batch-span.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const TRACEPARENT = { traceparent: `00-${TRACE}-${PARENT}-01` }

test('requests, batches and deliveries are told as spans, by the conventions of OpenTelemetry and without a secret', async () => {
  expect(findTracer()).toBeNull()
  const spans = registerSdk()
  const { api, owner, keys, store, serviceToken, logs } = await shop({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const hook = await receiver()
  const webhooks = `/v1/user/store/${store.id}/webhooks`
  const url = `${hook.url}/secret-of-the-path?token=secret-of-the-receiver`
  const webhook = (await api.post(webhooks, { url, types: ['key.created'] }, { as: owner.token })).body
  const service = await serviceToken()
  const found = async (name: string, more: (span: ReadableSpan) => boolean = () => true) => {
    const find = () => spans().find((span) => span.name === name && more(span))
    await expect.poll(find, { interval: 10 }).toBeDefined()
    return find() as ReadableSpan
  }

  const metadata = { note: 'secret-of-the-body' }
  const made = await api.post(keys, { ...NEW_KEY, metadata }, { as: owner.token, headers: TRACEPARENT })
  const create = await found('POST /v1/user/store/:storeId/keys')
  expect([create.kind, create.spanContext().traceId, create.parentSpanContext?.spanId]).toEqual([
    SpanKind.SERVER,
    TRACE,
    PARENT,
  ])
  expect(create.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/user/store/:storeId/keys',
    'http.response.status_code': 201,
    'network.protocol.version': '1.1',
    'url.scheme': 'http',
    'url.path': '/v1/user/store/REDACTED/keys',
    'storekeeper.request_id': made.headers.get('x-request-id'),
  })
  const insert = await found('BATCH insertKeys')
  expect([insert.kind, insert.parentSpanContext?.spanId]).toEqual([SpanKind.CLIENT, create.spanContext().spanId])
  expect(insert.attributes).toEqual({ 'db.system.name': 'postgresql', 'db.operation.name': 'insertKeys' })
  const line = logs()
    .split('\n')
    .find((text) => text.includes(`"requestId":"${made.headers.get('x-request-id')}"`))
  expect(JSON.parse(line ?? '{}').traceId).toBe(TRACE)

  // The first question is the framework's. Soon after one is answered on the fast path, while the service is in its cache.
  const isFast = ({ attributes }: ReadableSpan) => attributes['storekeeper.verification.code'] === 'VALID'
  const ask = () => api.post('/v1/keys/verify', { key: made.body.key }, { as: service, headers: TRACEPARENT })
  const askAndLook = async () => {
    await ask()
    return spans().some(isFast)
  }
  await expect.poll(askAndLook, { interval: 10 }).toBe(true)
  const slow = await found('POST /v1/keys/verify')
  expect([slow.parentSpanContext?.spanId, isFast(slow)]).toEqual([PARENT, false])
  const fast = await found('POST /v1/keys/verify', isFast)
  expect([fast.spanContext().traceId, fast.parentSpanContext?.spanId]).toEqual([TRACE, PARENT])
  expect(fast.attributes).toMatchObject({
    'http.route': '/v1/keys/verify',
    'http.response.status_code': 200,
    'storekeeper.verification.code': 'VALID',
  })

  const unknown = `/secret-of-the-path?token=secret-of-the-query`
  expect((await api.get(unknown)).status).toBe(404)
  const lost = await found('GET')
  expect(lost.attributes).toMatchObject({ 'url.path': '/REDACTED', 'http.response.status_code': 404 })
  expect([lost.parentSpanContext, lost.status.code]).toEqual([undefined, SpanStatusCode.UNSET])

  const [message] = await hook.messages(1)
  const delivery = await found('POST', ({ kind }) => kind === SpanKind.CLIENT)
  const { traceId, spanId } = delivery.spanContext()
  expect(message?.headers.traceparent).toBe(`00-${traceId}-${spanId}-01`)
  const { hostname, port, origin } = new URL(hook.url)
  expect(delivery.attributes).toEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 204,
    'server.address': hostname,
    'server.port': Number(port),
    'url.full': `${origin}/REDACTED`,
    'storekeeper.webhook.id': webhook.id,
    'storekeeper.event.id': message?.headers['webhook-id'],
    'storekeeper.event.type': 'key.created',
  })

  const told = JSON.stringify(
    spans().map(({ name, attributes, events, status, links }) => [name, attributes, events, status, links]),
  )
  for (const secret of [owner.token, made.body.key, service, webhook.secret, 'secret-of', owner.email])
    expect(told).not.toContain(secret)
})

test('a batch stands in the trace of its first request, is linked to the others, and tells how it failed', async () => {
  const exporter = new InMemorySpanExporter()
  const tracer = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('test')
  const askers = ['one', 'two'].map((name) => tracer.startSpan(name))
  const contexts = [ROOT_CONTEXT, ...askers.map((span) => trace.setSpan(ROOT_CONTEXT, span))]
  await withBatchSpan(tracer, 'insertKeys', contexts, async (failed) =>
    failed(new Failure('unavailable', { cause: new Error('a text that may hold anything') })),
  )
  const [batch] = exporter.getFinishedSpans()
  expect(batch?.parentSpanContext?.spanId).toBe(askers[0]?.spanContext().spanId)
  expect(batch?.links.map((link) => link.context.spanId)).toEqual([askers[1]?.spanContext().spanId])
  expect(batch?.attributes).toMatchObject({ 'db.operation.batch.size': 3, 'error.type': 'none' })
  expect([batch?.status, batch?.events]).toEqual([{ code: SpanStatusCode.ERROR }, []])
  // For nobody whose trace is recorded there is no span.
  await withBatchSpan(tracer, 'insertKeys', [ROOT_CONTEXT], async () => {})
  expect(exporter.getFinishedSpans()).toHaveLength(1)
})

/** As the operator's own file would do it; what it returns are the spans that have ended. */
function registerSdk(): () => ReadableSpan[] {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  onTestFinished(async () => {
    await provider.shutdown()
    for (const api of [trace, context, propagation]) api.disable()
  })
  return () => exporter.getFinishedSpans()
}
