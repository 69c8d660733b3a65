// Metrics for Prometheus: how often, how long, and with what outcome, by route. Labels are route patterns and numbers,
// never what a caller sent.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

export type Measured = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export type Metrics = {
  request(method: string, route: string, status: number, seconds: number): void
  /** A counter for one route and status that is so frequent that its requests are recorded many at a time. */
  bufferedCounter(method: string, route: string, status: number): (seconds: number) => void
  verified(code: string): void
  webhookAttempt(outcome: string): void
  /** Background work has failed. */
  failed(work: string): void
  /** A statement could not be carried out, or no connection was to be had. */
  databaseUnavailable(code: string): void
  /** All requests answered so far, on the fast path or not. */
  answered(): number
  read(): Promise<{ type: string; text: string }>
  /** The same as data, for a primary that adds up its workers'. */
  measure(): Promise<Measured>
}

/** Values that are read when the metrics are scraped. */
type Readings = {
  inFlight(): number
  waiting(): number
  streams(): number
  changeStreams(): number
  sealingFailed(): number
  sealingLag(): Promise<number>
  outboxDepth(): Promise<number>
}
/** Counts that their parts keep themselves. */
type Totals = {
  /** Events this node has sealed. */
  sealed(): number
  changeResets(): number
  reportedUses(): number
}

const METRICS = {
  requests: {
    name: 'storekeeper_http_requests_total',
    help: 'Requests answered, by route and status.',
    labelNames: ['method', 'route', 'status'],
  },
  durations: {
    name: 'storekeeper_http_request_duration_seconds',
    help: 'How long an answer took, by route.',
    labelNames: ['route'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
  },
  verifications: {
    name: 'storekeeper_verifications_total',
    help: 'Keys verified, by outcome.',
    labelNames: ['code'],
  },
  webhookAttempts: {
    name: 'storekeeper_webhook_attempts_total',
    help: 'Tries to deliver to a webhook, by outcome: delivered, failed, given_up.',
    labelNames: ['outcome'],
  },
  failures: {
    name: 'storekeeper_background_failures_total',
    help: 'Work in the background that failed and will be tried again: sealing, webhooks, and the chores of each minute.',
    labelNames: ['work'],
  },
  unavailable: {
    name: 'storekeeper_database_unavailable_total',
    help: 'Statements that the database could not carry out, by SQLSTATE: 53100 is a full disk, 25006 a server that takes no writes; none where it did not answer.',
    labelNames: ['code'],
  },
}

const TOTALS: Record<keyof Totals, { name: string; help: string }> = {
  sealed: {
    name: 'storekeeper_events_sealed_total',
    help: 'Events this node has sealed since it started. One node at a time does it for all.',
  },
  changeResets: {
    name: 'storekeeper_key_change_resets_total',
    help: 'Streams of key changes that had to begin anew, because this node lost its connection for notifications.',
  },
  reportedUses: {
    name: 'storekeeper_reported_uses_total',
    help: 'Uses of keys that back ends verified in their own process and reported to this node.',
  },
}

/** `aggregator`: how the values of several workers become one; else they are added up. */
const GAUGES: Record<keyof Readings, { name: string; help: string; aggregator?: 'max' }> = {
  inFlight: { name: 'storekeeper_http_requests_under_way', help: 'Requests that are being answered now.' },
  waiting: { name: 'storekeeper_database_waiting', help: 'Requests that wait for a connection to the database.' },
  streams: { name: 'storekeeper_event_streams', help: 'Streams of events that are open now.' },
  changeStreams: {
    name: 'storekeeper_key_change_streams',
    help: 'Streams of key changes that are open now, one for each process that verifies in its own memory.',
  },
  sealingFailed: { name: 'storekeeper_sealing_failed', help: '1 while the last pass of sealing on this node failed.' },
  sealingLag: {
    name: 'storekeeper_sealing_lag_seconds',
    help: 'Age of the oldest event that has no seal yet.',
    aggregator: 'max',
  },
  outboxDepth: {
    name: 'storekeeper_webhook_outbox_rows',
    help: 'Rows of the outbox, up to a hundred events each, that have not become deliveries yet; 10,000 means that many or more.',
    aggregator: 'max',
  },
}

const WORKERS = { name: 'storekeeper_workers', help: 'Processes that serve requests.' }

/** `works`: the background work whose failures are counted, from 0 on. */
export function newMetrics(readings: Readings, totals: Totals, works: readonly string[]): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'storekeeper_' })
  const requests = newRequestMetrics(registry)
  const verified = newVerificationCounter(registry)
  const webhookAttempts = new Counter({ ...METRICS.webhookAttempts, registers })
  const failures = new Counter({ ...METRICS.failures, registers })
  for (const work of works) failures.inc({ work }, 0)
  const unavailable = new Counter({ ...METRICS.unavailable, registers })
  for (const total of Object.keys(TOTALS) as (keyof Totals)[]) countTotal(registry, TOTALS[total], totals[total])
  // Of a cluster, the sum of them.
  new Gauge({ ...WORKERS, registers }).set(1)
  for (const reading of Object.keys(GAUGES) as (keyof Readings)[])
    new Gauge({
      ...GAUGES[reading],
      registers,
      async collect() {
        // What the database would have to tell is not known while it does not answer.
        this.set(await Promise.resolve(readings[reading]()).catch(() => Number.NaN))
      },
    })
  return {
    request: requests.record,
    bufferedCounter: requests.bufferedCounter,
    answered: requests.answered,
    verified,
    webhookAttempt: (outcome) => webhookAttempts.inc({ outcome }),
    failed: (work) => failures.inc({ work }),
    databaseUnavailable: (code) => unavailable.inc({ code }),
    read: async () => {
      requests.flush()
      return { type: METRICS_TYPE, text: await registry.metrics() }
    },
    measure: () => {
      requests.flush()
      return registry.getMetricsAsJSON()
    },
  }
}

function countTotal(registry: Registry, metric: (typeof TOTALS)['sealed'], read: () => number): void {
  let counted = 0
  new Counter({
    ...metric,
    registers: [registry],
    collect() {
      const total = read()
      this.inc(total - counted)
      counted = total
    },
  })
}

const MAX_BUFFERED = 500

function newRequestMetrics(registry: Registry) {
  const counts = new Counter({ ...METRICS.requests, registers: [registry] })
  const durations = new Histogram({ ...METRICS.durations, registers: [registry] })
  const flushes: (() => void)[] = []
  let answered = 0
  // prom-client looks a set of labels up by hashing it; `labels` does it once for all uses.
  const cached = new Map<string, { count: Counter.Internal; time: Histogram.Internal<string> }>()
  const labelled = (method: string, route: string, status: number) => {
    const name = `${method} ${route} ${status}`
    const found = cached.get(name) ?? {
      count: counts.labels({ method, route, status: String(status) }),
      time: durations.labels({ route }),
    }
    cached.set(name, found)
    return found
  }
  return {
    record(method: string, route: string, status: number, seconds: number): void {
      const { count, time } = labelled(method, route, status)
      answered += 1
      count.inc()
      time.observe(seconds)
    },
    bufferedCounter(method: string, route: string, status: number): (seconds: number) => void {
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
    flush(): void {
      for (const flush of flushes) flush()
    },
    answered: () => answered,
  }
}

/** Verifications are counted in a plain record, and handed to prom-client when the metrics are read. */
function newVerificationCounter(registry: Registry): (code: string) => void {
  let verified: Record<string, number> = {}
  new Counter({
    ...METRICS.verifications,
    registers: [registry],
    collect() {
      for (const [code, count] of Object.entries(verified)) this.inc({ code }, count)
      verified = {}
    },
  })
  return (code) => {
    verified[code] = (verified[code] ?? 0) + 1
  }
}
