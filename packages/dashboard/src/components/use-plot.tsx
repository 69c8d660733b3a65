// Use over a time that the reader chooses, as bars.

import { Group, Paper, SegmentedControl, Stack, Title } from '@mantine/core'
import type { CallOptions } from '@storekeeper/client'
import { useState } from 'react'
import { type ReadKey, useRead } from '../app/api.ts'
import { texts } from '../texts.ts'
import { Bars } from './bars.tsx'
import { Loaded } from './loaded.tsx'
import { type Counted, gather, hoursBetween, localDays, startOfLocalDay } from './usage.ts'

const hourName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' })
const dayName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })
const dayMark = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' })

const PERIODS = ['1', '7', '30'] as const
type Period = (typeof PERIODS)[number]
type Query = { from: Date; to: Date; interval: 'hour' }
type Props = {
  title: string
  readKey: ReadKey
  read: (query: Query, options: CallOptions) => Promise<Counted[]>
  fileName: string
}

export function UsePlot({ title, readKey, read, fileName }: Props) {
  const [period, setPeriod] = useState<Period>('7')
  const byHour = period === '1'
  const usage = useRead(
    [...readKey, period],
    async (options) => {
      const to = new Date()
      const from = byHour ? new Date(to.getTime() - 24 * 3_600_000) : startOfLocalDay(to, 1 - Number(period))
      const counted = await read({ from, to, interval: 'hour' }, options)
      return gather(counted, byHour ? hoursBetween(from, to) : localDays(from, to))
    },
    { refetchInterval: 30_000 },
  )
  return (
    <Paper withBorder p="md">
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4">
            {title}
          </Title>
          <SegmentedControl
            size="xs"
            aria-label={texts.keys.period}
            data={PERIODS.map((value) => ({ value, label: texts.keys.periods[value] }))}
            value={period}
            onChange={(value) => setPeriod(value as Period)}
          />
        </Group>
        <Loaded query={usage}>
          {(intervals) => (
            <Bars
              intervals={intervals}
              label={texts.keys.periods[period]}
              name={(at) => (byHour ? hourName : dayName).format(at)}
              {...(period === '7' ? { mark: (at: Date) => dayMark.format(at) } : {})}
              fileName={fileName}
            />
          )}
        </Loaded>
      </Stack>
    </Paper>
  )
}
