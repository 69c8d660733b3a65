// Use over time, as bars: what was valid below, what was refused above it. The same numbers are in a table for whoever
// cannot see the bars, and in a file for a spreadsheet.

import { Box, Button, Group, Table, Text, VisuallyHidden } from '@mantine/core'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { texts } from '../texts.ts'
import { type Interval, toCsv, total } from './usage.ts'

const HEIGHT = 140
const GAP = 0.2

type Props = { intervals: Interval[]; label: string; name: (at: Date) => string; fileName: string }

export function Bars({ intervals, label, name, fileName }: Props) {
  const [pointed, setPointed] = useState<number | null>(null)
  const highest = Math.max(1, ...intervals.map(({ valid, refused }) => valid + refused))
  const sum = total(intervals)
  const shown = pointed === null ? null : intervals[pointed]
  return (
    <Box component="figure" m={0}>
      <Group justify="space-between" mb="xs">
        <Text size="sm" component="figcaption">
          {shown
            ? texts.usage.ofInterval(name(shown.at), shown.valid, shown.refused)
            : texts.usage.sum(label, sum.valid, sum.refused)}
        </Text>
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
      <svg
        aria-hidden
        viewBox={`0 0 ${intervals.length} ${HEIGHT}`}
        width="100%"
        height={HEIGHT}
        preserveAspectRatio="none"
        onMouseLeave={() => setPointed(null)}
      >
        <line
          x1={0}
          x2={intervals.length}
          y1={HEIGHT}
          y2={HEIGHT}
          className="bars-axis"
          vectorEffect="non-scaling-stroke"
        />
        {intervals.map(({ at, valid, refused }, n) => {
          const [high, higher] = [(valid / highest) * HEIGHT, (refused / highest) * HEIGHT]
          return (
            <g
              key={at.getTime()}
              onMouseEnter={() => setPointed(n)}
              opacity={pointed === null || pointed === n ? 1 : 0.5}
            >
              <rect x={n} width={1} y={0} height={HEIGHT} fill="transparent" />
              <rect x={n + GAP / 2} width={1 - GAP} y={HEIGHT - high} height={high} className="bars-valid" />
              <rect
                x={n + GAP / 2}
                width={1 - GAP}
                y={HEIGHT - high - higher}
                height={higher}
                className="bars-refused"
              />
            </g>
          )
        })}
      </svg>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {intervals[0] && name(intervals[0].at)}
        </Text>
        <Text size="xs" c="dimmed">
          {intervals.at(-1) && name((intervals.at(-1) as Interval).at)}
        </Text>
      </Group>
      <VisuallyHidden>
        <Table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th>{texts.usage.interval}</th>
              <th>{texts.usage.valid}</th>
              <th>{texts.usage.refused}</th>
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
