// Metrics of nothing: for tests of what is counted, not of what is read.

import { GAUGES, TOTALS } from '../src/http/metric-table.ts'
import type { Measurable } from '../src/http/metrics.ts'

const zeros = (names: object) => Object.fromEntries(Object.keys(names).map((name) => [name, () => 0]))

export const UNMEASURED = {
  readings: zeros(GAUGES),
  totals: zeros(TOTALS),
  databaseRole: async () => 'primary',
  works: ['sealing'],
  chores: ['purgeSessions'],
  // The tables name all of what the types ask for.
} as unknown as Measurable
