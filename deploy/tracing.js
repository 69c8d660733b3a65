// An SDK for traces, loaded before the service: NODE_OPTIONS="--import /etc/storekeeper/tracing.js". It sends spans to the
// collector at OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318 if unset). In the folder of this file:
// npm install @opentelemetry/api@1.9 @opentelemetry/sdk-trace-node@2 @opentelemetry/resources@2 @opentelemetry/exporter-trace-otlp-http
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node'

new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'storekeeper' }),
  // A hundredth of the requests whose caller has not decided.
  sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.01) }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
}).register()
