// The metrics of all workers as one. A counter never falls: what workers counted that have ended is kept, and a worker that
// does not answer in time stands with what it said last.

import prom from 'prom-client'
import type { Measured } from '../http/metrics.ts'

export type ClusterMetrics = {
  /** What a worker has said of itself. */
  report(worker: number, metrics: Measured): void
  /** The worker has ended. */
  end(worker: number): void
  /** In Prometheus' own form. */
  text(): Promise<string>
}

export function newClusterMetrics(): ClusterMetrics {
  const latest = new Map<number, Measured>()
  // Added up one after the other: two workers may end at the same moment.
  let ended: Promise<Measured> = Promise.resolve([])
  return {
    report: (worker, metrics) => void latest.set(worker, metrics),
    end(worker) {
      const last = latest.get(worker) ?? []
      latest.delete(worker)
      ended = ended.then((sum) => add([sum, last.filter(isCount)]).getMetricsAsJSON())
    },
    async text() {
      const serving = [...latest.values()]
      return add([await ended, ...serving]).metrics()
    },
  }
}

function add(parts: Measured[]): prom.Registry {
  return prom.AggregatorRegistry.aggregate(parts)
}

function isCount({ type }: Measured[number]): boolean {
  return String(type) === 'counter' || String(type) === 'histogram'
}
