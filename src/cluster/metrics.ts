// The metrics of all workers as one. A counter never falls: what workers counted that have ended is kept, and a worker that
// does not answer in time stands with what it said last.

import prom from 'prom-client'
import type { Measured } from '../http/metrics.ts'

export type ClusterMetrics = {
  /** What a worker has said of itself. */
  report(worker: number, metrics: Measured): void
  /** The worker has ended. */
  end(worker: number): Promise<void>
  /** In Prometheus' own form. */
  text(): Promise<string>
}

export function newClusterMetrics(): ClusterMetrics {
  const latest = new Map<number, Measured>()
  let ended: Measured = []
  return {
    report: (worker, metrics) => void latest.set(worker, metrics),
    async end(worker) {
      const last = latest.get(worker) ?? []
      latest.delete(worker)
      ended = await add([ended, last.filter(isCount)]).getMetricsAsJSON()
    },
    text: () => add([ended, ...latest.values()]).metrics(),
  }
}

function add(parts: Measured[]): prom.Registry {
  return prom.AggregatorRegistry.aggregate(parts)
}

function isCount({ type }: Measured[number]): boolean {
  return String(type) === 'counter' || String(type) === 'histogram'
}
