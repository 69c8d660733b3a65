// For Prometheus: how often, how long, and how it ended, by route. Labels are route patterns and numbers, never what a
// caller sent.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = {
  request(method: string, route: string, status: number, seconds: number): void
  /** The same for one route and status that come again and again. */
  requestsOf(method: string, route: string, status: number): (seconds: number) => void
  verified(code: string): void
  read(): Promise<{ type: string; text: string }>
}

export function newMetrics(readings: { underWay(): number; waiting(): number }): Metrics {
  const registry = new Registry()
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
  const verifications = new Counter({
    name: 'storekeeper_verifications_total',
    help: 'Keys verified, by outcome.',
    labelNames: ['code'],
    registers: [registry],
  })
  new Gauge({
    name: 'storekeeper_http_requests_under_way',
    help: 'Requests that are being answered now.',
    registers: [registry],
    collect() {
      this.set(readings.underWay())
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
  // A label set is looked up by name once, then at hand.
  const known = new Map<string, { count: Counter.Internal; time: Histogram.Internal<'route'> }>()
  const outcomes = new Map<string, Counter.Internal>()
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
      count.inc()
      time.observe(seconds)
    },
    requestsOf(method, route, status) {
      const { count, time } = labelled(method, route, status)
      return (seconds) => {
        count.inc()
        time.observe(seconds)
      }
    },
    verified(code) {
      const child = outcomes.get(code) ?? verifications.labels({ code })
      outcomes.set(code, child)
      child.inc()
    },
    read: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }
}
