// What was answered from memory is counted here and reported to the service, one batch at a time. The counts of a batch are
// fixed until the service has said that it has them, and it applies each number once: no use is counted twice.

import type { Memory, Uses } from './memory.ts'

/** Of one report: the service takes 64 KiB. A count has up to 116 characters, and 75 more for each permission. */
const MAX_COUNTS = 250
const MAX_PERMISSIONS = 400

type Batch = {
  seq: number
  counts: { keyId: string; secret: number; count: number; at: number; asked: string[] }[]
}
export type UsageReports = { seq: number; batch: Batch | null }

/** How a batch is sent. How long ago the last use was is counted from the sending, also of a repeated one. */
export type UsageReport = {
  seq: number
  counts: { keyId: string; secret: number; valid: number; agoMs: number; permissions: Record<string, number> }[]
}

/** The report that has to be sent: the one that was not answered yet, else the next; null when nothing was used. */
export function nextReport(reports: UsageReports, memory: Memory, mono: number): UsageReport | null {
  if (reports.batch === null && memory.used.length > 0) {
    let permissions = 0
    const full = memory.used.findIndex((uses) => (permissions += uses.permissions.length) > MAX_PERMISSIONS)
    // A key that has more of them alone goes alone: a question asks for few.
    const size = full < 0 ? MAX_COUNTS : Math.min(Math.max(1, full), MAX_COUNTS)
    const counts = memory.used.splice(0, size).map((uses) => {
      const { keyId, secret, count, at } = uses
      const asked = takeAsked(uses)
      uses.count = 0
      return { keyId, secret, count, at, asked }
    })
    reports.seq += 1
    reports.batch = { seq: reports.seq, counts }
  }
  if (reports.batch === null) return null
  return {
    seq: reports.batch.seq,
    counts: reports.batch.counts.map(({ keyId, secret, count, at, asked }) => {
      const agoMs = Math.max(0, Math.round(mono - at))
      // Within a report, which comes every few seconds, the last use of the key stands for that of each permission.
      const permissions = Object.fromEntries(asked.map((name) => [name, agoMs]))
      return { keyId, secret, valid: count, agoMs, permissions }
    }),
  }
}

/** The permissions that were asked for since the last report. */
function takeAsked(uses: Uses): string[] {
  const { asked, alsoAsked } = uses
  uses.asked = 0
  uses.alsoAsked = null
  return uses.permissions.filter((name, n) => (n < 32 ? asked & (1 << n) : alsoAsked?.has(name)))
}

/** The service has the report, or will never take it. */
export function endReport(reports: UsageReports): void {
  reports.batch = null
}
