// Use over time, as bars: what was valid below, what was refused above it. The same numbers are in a table for whoever
// cannot see the bars, and in a file for a spreadsheet.

import { Box, Button, Group, Table, Text, VisuallyHidden } from '@mantine/core'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { texts } from '../texts.ts'
import { type Interval, toCsv, total } from './usage.ts'

const HEIGHT = 160
const GAP = 0.36
/** Up to so many bars have room for a name each. */
const NAMED = 8

type Props = {
  intervals: Interval[]
  label: string
  name: (at: Date) => string
  fileName: string
  /** Below a bar, where there is little room. */
  mark?: (at: Date) => string
  /** What the lower and the upper part of a bar are. */
  words?: { valid: string; refused: string }
}

export function Bars({ intervals, label, name, fileName, mark = name, words = texts.usage }: Props) {
  const [pointed, setPointed] = useState<number | null>(null)
  const highest = roundUp(Math.max(1, ...intervals.map(({ valid, refused }) => valid + refused)))
  const shown = pointed === null ? undefined : intervals[pointed]
  const sum = total(intervals)
  const { valid, refused } = shown ?? sum
  return (
    <Box component="figure" m={0}>
      <Group justify="space-between" mb="md">
        <Group component="figcaption" gap="md">
          <Sum className="bars-sum" count={valid} word={words.valid} />
          <Sum className="bars-sum bars-sum-refused" count={refused} word={words.refused} />
          <Text size="sm" c="dimmed" visibleFrom="xs">
            {shown ? name(shown.at) : label}
          </Text>
        </Group>
        <Button
          component="a"
          size="compact-xs"
          variant="subtle"
          leftSection={<Download size={14} aria-hidden />}
          href={`data:text/csv;charset=utf-8,${encodeURIComponent(toCsv(intervals))}`}
          download={fileName}
        >
          {texts.usage.csv}
        </Button>
      </Group>
      {sum.valid + sum.refused === 0 ? (
        <Text size="sm" c="dimmed" py="xl" ta="center">
          {texts.usage.none}
        </Text>
      ) : (
        <>
          <Plot intervals={intervals} highest={highest} pointed={pointed} onPoint={setPointed} />
          <div className={intervals.length > NAMED ? 'bars-names bars-ends' : 'bars-names'} aria-hidden>
            {(intervals.length > NAMED ? endsOf(intervals) : intervals).map(({ at }) => (
              <span key={at.getTime()}>{mark(at)}</span>
            ))}
          </div>
        </>
      )}
      <VisuallyHidden>
        <Table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th>{texts.usage.interval}</th>
              <th>{words.valid}</th>
              <th>{words.refused}</th>
            </tr>
          </thead>
          <tbody>
            {intervals.map(({ at, valid, refused }) => (
              <tr key={at.getTime()}>
                <td>{name(at)}</td>
                <td>{valid}</td>
                <td>{refused}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      </VisuallyHidden>
    </Box>
  )
}

function Sum({ className, count, word }: { className: string; count: number; word: string }) {
  return (
    <span className={className}>
      <Text span fw={700} size="xl">
        {texts.usage.count(count)}
      </Text>
      <Text span size="sm" c="dimmed">
        {word.toLowerCase()}
      </Text>
    </span>
  )
}

const endsOf = (intervals: Interval[]) =>
  [intervals[0], intervals[Math.floor(intervals.length / 2)], intervals.at(-1)].filter((one) => one !== undefined)

/** To a number that reads well at the top of a scale: 7,412 becomes 8,000. */
function roundUp(highest: number): number {
  const unit = 10 ** Math.floor(Math.log10(highest))
  return ([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((times) => times * unit >= highest) ?? 10) * unit
}

type PlotProps = {
  intervals: Interval[]
  highest: number
  pointed: number | null
  onPoint: (n: number | null) => void
}

function Plot({ intervals, highest, pointed, onPoint }: PlotProps) {
  const count = intervals.length
  return (
    <div className="bars-plot" aria-hidden>
      {[1, 0.5, 0].map((part) => (
        <span key={part} className="bars-scale" style={{ insetBlockStart: HEIGHT * (1 - part) }}>
          {texts.usage.short(highest * part)}
        </span>
      ))}
      <svg
        aria-hidden
        viewBox={`0 0 ${count} ${HEIGHT}`}
        width="100%"
        height={HEIGHT}
        preserveAspectRatio="none"
        onMouseLeave={() => onPoint(null)}
      >
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line key={y} x1={0} x2={count} y1={y} y2={y} className="bars-axis" vectorEffect="non-scaling-stroke" />
        ))}
        {intervals.map(({ at, valid, refused }, n) => {
          const [high, higher] = [(valid / highest) * HEIGHT, (refused / highest) * HEIGHT]
          const bar = { x: n + GAP / 2, width: 1 - GAP }
          return (
            <g key={at.getTime()} onMouseEnter={() => onPoint(n)} opacity={pointed === null || pointed === n ? 1 : 0.5}>
              <rect x={n} width={1} y={0} height={HEIGHT} fill="transparent" />
              <rect {...bar} y={HEIGHT - high} height={high} className="bars-valid" />
              <rect {...bar} y={HEIGHT - high - higher} height={higher} className="bars-refused" />
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** A line of small bars in a list, with its sum in words. */
export function SmallBars({ intervals }: { intervals: Interval[] }) {
  const highest = Math.max(1, ...intervals.map(({ valid, refused }) => valid + refused))
  const sum = total(intervals)
  return (
    <svg
      role="img"
      aria-label={texts.usage.small(sum.valid, sum.refused)}
      viewBox={`0 0 ${intervals.length} 24`}
      width={intervals.length * 5}
      height={24}
      preserveAspectRatio="none"
    >
      <title>{texts.usage.small(sum.valid, sum.refused)}</title>
      <line x1={0} x2={intervals.length} y1={24} y2={24} className="bars-axis" vectorEffect="non-scaling-stroke" />
      {intervals.map(({ at, valid, refused }, n) => {
        const [high, higher] = [(valid / highest) * 23, (refused / highest) * 23]
        return (
          <g key={at.getTime()}>
            <rect x={n + 0.1} width={0.8} y={24 - high} height={high} className="bars-valid" />
            <rect x={n + 0.1} width={0.8} y={24 - high - higher} height={higher} className="bars-refused" />
          </g>
        )
      })}
    </svg>
  )
}
