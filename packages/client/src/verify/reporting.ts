// Uses that were answered from memory are reported every few seconds, one report at a time. A report that was not answered
// is sent again as it was.

import { StorekeeperError } from '../error.ts'
import type { Transport } from '../transport.ts'
import type { Memory } from './memory.ts'
import { endReport, nextReport, type UsageReports } from './usage.ts'

const INTERVAL_MS = 5_000
const TIMEOUT_MS = 5_000

export type Reporting = {
  counters: { reported: number; unreported: number }
  isBusy(): boolean
  /** Called now and then: sends a report when it is time. */
  look(): void
  /** Sends what is left. */
  close(): Promise<void>
}

export function newReporting(transport: Transport, memory: Memory): Reporting {
  const reporter = crypto.randomUUID()
  const reports: UsageReports = { seq: 0, batch: null }
  const counters = { reported: 0, unreported: 0 }
  let sentAt = performance.now()
  let underWay: Promise<boolean> | null = null

  /** Whether the service has it. */
  async function send(): Promise<boolean> {
    const report = nextReport(reports, memory, performance.now())
    if (report === null) return false
    sentAt = performance.now()
    const uses = report.counts.reduce((sum, { valid }) => sum + valid, 0)
    try {
      const body = { reporter, ...report }
      await transport.request('POST', '/v1/keys/usage', { body, timeout: TIMEOUT_MS, retries: 0 })
      counters.reported += uses
    } catch (error) {
      // Refused for good: sent again, it would be refused again, and hold up all that come after it.
      const { status = 0 } = error instanceof StorekeeperError ? error : {}
      if (![400, 404, 413, 422].includes(status)) return false
      counters.unreported += uses
    }
    endReport(reports)
    return true
  }

  return {
    counters,
    isBusy: () => underWay !== null || reports.batch !== null || memory.used.length > 0,
    look() {
      if (underWay !== null || performance.now() - sentAt < INTERVAL_MS) return
      underWay = send().finally(() => {
        underWay = null
      })
    },
    async close() {
      await underWay
      while (await send());
    },
  }
}
