// Counts over time as a small plot of block characters, with the numbers beside it.

const BLOCKS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
const HEIGHT = 4

export type Series = { from: string; to: string; interval: string; counts: { at: string; count: number }[] }

/** A bar for each interval, or for several where they do not fit beside one another. */
export function plot({ from, to, interval, counts }: Series, columns = 80): string[] {
  const step = interval === 'day' ? 86_400_000 : 3_600_000
  const [begin, end] = [Date.parse(from), Date.parse(to)]
  const intervals = Math.max(1, Math.ceil((end - begin) / step))
  const most = (values: number[]) => Math.max(...values, 0)
  const labelWidth = String(most(counts.map(({ count }) => count)) * intervals).length + 1
  const together = Math.ceil(intervals / Math.max(10, columns - labelWidth - 2))
  const bars = new Array<number>(Math.ceil(intervals / together)).fill(0)
  for (const { at, count } of counts) {
    const bar = Math.floor((Date.parse(at) - begin) / step / together)
    if (bar >= 0 && bar < bars.length) bars[bar] = (bars[bar] as number) + count
  }
  const top = most(bars)
  const label = String(top)
  const width = label.length
  const lines = Array.from({ length: HEIGHT }, (_, row) => {
    const below = (HEIGHT - 1 - row) * 8
    const text = bars.map((count) => {
      // What is there is seen, however little beside the rest.
      const eighths = count === 0 ? 0 : Math.max(1, Math.round((count / (top || 1)) * HEIGHT * 8))
      return BLOCKS[Math.min(8, Math.max(0, eighths - below))]
    })
    const side = row === 0 ? label : row === HEIGHT - 1 ? '0' : ''
    return `${side.padStart(width)} ┤${text.join('')}`.trimEnd()
  })
  const [first, last] = [shortTime(from, interval), shortTime(to, interval)]
  const gap = Math.max(1, bars.length - first.length - last.length)
  const scale = together === 1 ? `each bar is one ${interval}` : `each bar is ${together} ${interval}s`
  return [...lines, `${' '.repeat(width + 2)}${first}${' '.repeat(gap)}${last}  ${scale}`]
}

function shortTime(at: string, interval: string): string {
  return interval === 'day' ? at.slice(0, 10) : `${at.slice(5, 10)} ${at.slice(11, 16)}Z`
}

/** One line, for a row of a table. */
export function sparkline(values: number[]): string {
  const top = Math.max(...values, 1)
  return values.map((value) => (value === 0 ? ' ' : BLOCKS[Math.max(1, Math.round((value / top) * 8))])).join('')
}
