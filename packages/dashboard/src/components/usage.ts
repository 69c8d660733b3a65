// Usage as the plots draw it: intervals in the reader's own time zone, without gaps. Up to 90 days come by the hour, so a
// day is the reader's own day, of 23 or 25 hours when the clocks change; longer periods come by the day of UTC, and say so.

/** Whole hours, so that no hour falls into two parts. */
const MAX_SPAN_MS = 30 * 86_400_000

export type Interval = { at: Date; valid: number; refused: number; counts: Record<string, number> }
export type Counted = { at: string; counts: Record<string, number> }

export function startOfLocalDay(at: Date, days = 0): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + days)
}

/** The beginnings of the local days from `from` on, the day of `to` included. */
export function localDays(from: Date, to: Date): Date[] {
  const days: Date[] = []
  for (let day = startOfLocalDay(from); day <= to; day = startOfLocalDay(day, 1)) days.push(day)
  return days
}

export function hoursBetween(from: Date, to: Date): Date[] {
  const first = Math.floor(from.getTime() / 3_600_000)
  const last = Math.floor(to.getTime() / 3_600_000)
  return Array.from({ length: last - first + 1 }, (_, n) => new Date((first + n) * 3_600_000))
}

/** Hours are asked for in parts: the service tells those of 31 days at a time. */
export function hourSpans(from: Date, to: Date): { from: Date; to: Date; interval: 'hour' }[] {
  const spans: { from: Date; to: Date; interval: 'hour' }[] = []
  for (let start = from.getTime(); start < to.getTime(); start += MAX_SPAN_MS)
    spans.push({
      from: new Date(start),
      to: new Date(Math.min(start + MAX_SPAN_MS, to.getTime())),
      interval: 'hour',
    })
  return spans
}

/** One interval from each of `starts` to the next, zero where nothing was counted. */
export function gather(counted: readonly Counted[], starts: readonly Date[]): Interval[] {
  const intervals = starts.map((at): Interval => ({ at, valid: 0, refused: 0, counts: {} }))
  for (const { at, counts } of counted) {
    const place = lastBefore(starts, new Date(at))
    const interval = intervals[place]
    if (!interval) continue
    for (const [outcome, count] of Object.entries(counts)) {
      interval.counts[outcome] = (interval.counts[outcome] ?? 0) + count
      if (outcome === 'VALID') interval.valid += count
      else interval.refused += count
    }
  }
  return intervals
}

function lastBefore(starts: readonly Date[], at: Date): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] as Date) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

export function total(intervals: readonly Interval[]): { valid: number; refused: number } {
  return intervals.reduce((sum, { valid, refused }) => ({ valid: sum.valid + valid, refused: sum.refused + refused }), {
    valid: 0,
    refused: 0,
  })
}

/** A table of the same numbers, for a spreadsheet. */
export function toCsv(intervals: readonly Interval[]): string {
  const outcomes = [...new Set(intervals.flatMap(({ counts }) => Object.keys(counts)))].sort()
  const rows = intervals.map(({ at, counts }) => [at.toISOString(), ...outcomes.map((name) => counts[name] ?? 0)])
  return [['from', ...outcomes], ...rows].map((row) => `${row.join(',')}\r\n`).join('')
}
