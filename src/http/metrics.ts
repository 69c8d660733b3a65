// For Prometheus: how often, how long, and how it ended, by route. Labels are route patterns and numbers, never what a
// caller sent.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = {
  request(method: string, route: string, status: number, seconds: number): void
  /** The same for one route and status that come again and again. */
  bufferedCounter(method: string, route: string, status: number): (seconds: number) => void
  verified(code: string): void
  sent(outcome: string): void
  /** Something in the background. */
  failed(work: string): void
  /** How many requests so far, by whichever way they came. */
  answered(): number
  read(): Promise<{ type: string; text: string }>
}

type Readings = { inFlight(): number; waiting(): number; streams(): number; sealed(): number }

/** What comes again and again is handed over so many at a time, or when somebody reads. */
const MAX_BUFFERED = 500

export function newMetrics(readings: Readings): Metrics {
  const registry = new Registry()
  let verified: Record<string, number> = {}
  let answered = 0
  const flushes: (() => void)[] = []
  collectDefaultMetrics({ register: registry, prefix: 'storekeeper_' })
  const requests = new Counter({
    name: 'storekeeper_http_requests_total',
    help: 'Requests answered, by route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  })
  const durations = new Histogram({
    name: 'storekeeper_http_request_duration_seconds',
    help: 'How long an answer took, by route.',
    labelNames: ['route'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    registers: [registry],
  })
  new Counter({
    name: 'storekeeper_verifications_total',
    help: 'Keys verified, by outcome.',
    labelNames: ['code'],
    registers: [registry],
    collect() {
      for (const [code, count] of Object.entries(verified)) this.inc({ code }, count)
      verified = {}
    },
  })
  const deliveries = new Counter({
    name: 'storekeeper_webhook_attempts_total',
    help: 'Tries to deliver to a webhook, by outcome: delivered, failed, given_up.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const failures = new Counter({
    name: 'storekeeper_background_failures_total',
    help: 'Work in the background that failed and will be tried again: sealing, webhooks, and the chores of each minute.',
    labelNames: ['work'],
    registers: [registry],
  })
  new Gauge({
    name: 'storekeeper_http_requests_under_way',
    help: 'Requests that are being answered now.',
    registers: [registry],
    collect() {
      this.set(readings.inFlight())
    },
  })
  new Gauge({
    name: 'storekeeper_database_waiting',
    help: 'Requests that wait for a connection to the database.',
    registers: [registry],
    collect() {
      this.set(readings.waiting())
    },
  })
  new Gauge({
    name: 'storekeeper_event_streams',
    help: 'Streams of events that are open now.',
    registers: [registry],
    collect() {
      this.set(readings.streams())
    },
  })
  new Gauge({
    name: 'storekeeper_events_sealed',
    help: 'Events this node has sealed since it started. One node at a time does it for all.',
    registers: [registry],
    collect() {
      this.set(readings.sealed())
    },
  })
  // A label set is looked up by name once, then at hand.
  const known = new Map<string, { count: Counter.Internal; time: Histogram.Internal<'route'> }>()
  const labelled = (method: string, route: string, status: number) => {
    const name = `${method} ${route} ${status}`
    const found = known.get(name) ?? {
      count: requests.labels({ method, route, status: String(status) }),
      time: durations.labels({ route }),
    }
    known.set(name, found)
    return found
  }
  return {
    request(method, route, status, seconds) {
      const { count, time } = labelled(method, route, status)
      answered += 1
      count.inc()
      time.observe(seconds)
    },
    sent: (outcome) => deliveries.inc({ outcome }),
    bufferedCounter(method, route, status) {
      const { count, time } = labelled(method, route, status)
      const buffered: number[] = []
      const flush = () => {
        count.inc(buffered.length)
        for (const seconds of buffered) time.observe(seconds)
        buffered.length = 0
      }
      flushes.push(flush)
      return (seconds) => {
        answered += 1
        buffered.push(seconds)
        if (buffered.length === MAX_BUFFERED) flush()
      }
    },
    verified(code) {
      verified[code] = (verified[code] ?? 0) + 1
    },
    failed: (work) => failures.inc({ work }),
    answered: () => answered,
    read: async () => {
      for (const flush of flushes) flush()
      return { type: registry.contentType, text: await registry.metrics() }
    },
  }
}
