// Metrics for Prometheus: how often, how long, and with what outcome, by route. Labels are route patterns and numbers,
// never what a caller sent.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { SECOND } from '../core/clock.ts'
import { VERSION } from '../core/version.ts'
import { DATABASE_ROLES, type DatabaseRole } from '../db/state.ts'
import {
  BUILD,
  GAUGES,
  IDEMPOTENT_OUTCOMES,
  type IdempotentOutcome,
  RECORDED,
  type Readings,
  ROLE,
  TOTALS,
  type Totals,
  UNAVAILABLE_CODES,
  WEBHOOK_OUTCOMES,
  WORKERS,
} from './metric-table.ts'

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/**
 * What the database would have to tell is not waited for longer: a primary gives its workers a second for all metrics
 * (cluster/primary.ts), and a node without a database must be able to say so.
 */
const READING_MS = SECOND / 2

export type Measured = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The parts that the metrics are read from. `works`: the background work whose failures are counted. */
export type Measurable = {
  readings: Readings
  totals: Totals
  databaseRole(): Promise<DatabaseRole>
  works: readonly string[]
  chores: readonly string[]
}

export type Metrics = {
  request(method: string, route: string, status: number, seconds: number): void
  /** A counter for one route and status that is so frequent that its requests are recorded many at a time. */
  bufferedCounter(method: string, route: string, status: number): (seconds: number) => void
  verified(code: string): void
  webhookAttempt(outcome: string): void
  idempotent(outcome: IdempotentOutcome): void
  chore(name: string, seconds: number, rows: number): void
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

export function newMetrics({ readings, totals, databaseRole, works, chores }: Measurable): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'storekeeper_' })
  const requests = newRequestMetrics(registry)
  const verified = newVerificationCounter(registry)
  const webhookAttempts = new Counter({ ...RECORDED.webhookAttempts, registers })
  const idempotentRequests = new Counter({ ...RECORDED.idempotentRequests, registers })
  const failures = new Counter({ ...RECORDED.failures, registers })
  const unavailable = new Counter({ ...RECORDED.unavailable, registers })
  const choreDurations = new Histogram({ ...RECORDED.choreDurations, registers })
  const choreRows = new Counter({ ...RECORDED.choreRows, registers })
  // From 0 on: otherwise the first of a kind would not count as an increase.
  for (const outcome of WEBHOOK_OUTCOMES) webhookAttempts.inc({ outcome }, 0)
  for (const outcome of IDEMPOTENT_OUTCOMES) idempotentRequests.inc({ outcome }, 0)
  for (const work of works) failures.inc({ work }, 0)
  for (const code of UNAVAILABLE_CODES) unavailable.inc({ code }, 0)
  for (const chore of chores) {
    choreDurations.zero({ chore })
    choreRows.inc({ chore }, 0)
  }
  for (const total of Object.keys(TOTALS) as (keyof Totals)[]) countTotal(registry, TOTALS[total], totals[total])
  // Of a cluster, the sum of them.
  new Gauge({ ...WORKERS, registers }).set(1)
  new Gauge({ ...BUILD, registers }).set({ version: VERSION, node: process.version }, 1)
  for (const reading of Object.keys(GAUGES) as (keyof Readings)[])
    new Gauge({
      ...GAUGES[reading],
      registers,
      async collect() {
        this.set(await inTime(readings[reading](), Number.NaN))
      },
    })
  new Gauge({
    ...ROLE,
    registers,
    async collect() {
      const now = await inTime(databaseRole(), 'none')
      for (const role of DATABASE_ROLES) this.set({ role }, Number(role === now))
    },
  })
  return {
    request: requests.record,
    bufferedCounter: requests.bufferedCounter,
    answered: requests.answered,
    verified,
    webhookAttempt: (outcome) => webhookAttempts.inc({ outcome }),
    idempotent: (outcome) => idempotentRequests.inc({ outcome }),
    chore: (chore, seconds, rows) => {
      choreDurations.observe({ chore }, seconds)
      choreRows.inc({ chore }, rows)
    },
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

/** `otherwise` for what cannot be told now. */
async function inTime<T>(reading: T | Promise<T>, otherwise: T): Promise<T> {
  if (!(reading instanceof Promise)) return reading
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, READING_MS, otherwise)
  })
  return Promise.race([reading.catch(() => otherwise), late]).finally(() => clearTimeout(timer))
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
  const counts = new Counter({ ...RECORDED.requests, registers: [registry] })
  const durations = new Histogram({ ...RECORDED.durations, registers: [registry] })
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
    ...RECORDED.verifications,
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
