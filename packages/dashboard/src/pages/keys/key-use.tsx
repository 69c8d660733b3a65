// How a key was used: by outcome, over a time that the reader chooses.

import { Alert, Group, Paper, SegmentedControl, Stack, Table, Text } from '@mantine/core'
import type { Key } from '@storekeeper/client'
import { useState } from 'react'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { Bars } from '../../components/bars.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Time } from '../../components/time.tsx'
import { gather, hourSpans, hoursBetween, localDays, startOfLocalDay } from '../../components/usage.ts'
import { texts } from '../../texts.ts'

const PERIODS = ['1', '7', '30', '90'] as const
type Period = (typeof PERIODS)[number]

const hourName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' })
const dayName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })
const dayMark = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' })

export function KeyUse({ apiKey: { id, storeId, name } }: { apiKey: Key }) {
  const [period, setPeriod] = useState<Period>('7')
  const byHour = period === '1'
  const query = useRead(
    ['usage', storeId, id, period],
    async (options) => {
      const to = new Date()
      const from = byHour ? new Date(to.getTime() - 24 * 3_600_000) : startOfLocalDay(to, 1 - Number(period))
      const { keys } = sk.store(storeId)
      const parts = await Promise.all(hourSpans(from, to).map((span) => keys.usage(id, span, options)))
      const starts = byHour ? hoursBetween(from, to) : localDays(from, to)
      const sources = parts.at(-1)?.bySecret.current.sources ?? []
      return {
        sources,
        intervals: gather(
          parts.flatMap(({ data }) => data),
          starts,
        ),
      }
    },
    { refetchInterval: 15_000 },
  )
  return (
    <Paper withBorder p="md">
      <Stack>
        <Group justify="space-between">
          <Text fw={600}>{texts.keys.use}</Text>
          <SegmentedControl
            size="xs"
            aria-label={texts.keys.period}
            data={PERIODS.map((value) => ({ value, label: texts.keys.periods[value] }))}
            value={period}
            onChange={(value) => setPeriod(value as Period)}
          />
        </Group>
        <Loaded query={query}>
          {({ sources, intervals }) => (
            <Stack>
              <Bars
                intervals={intervals}
                label={texts.keys.periods[period]}
                name={(at) => (byHour ? hourName : dayName).format(at)}
                {...(period === '7' ? { mark: (at: Date) => dayMark.format(at) } : {})}
                fileName={`${name}.csv`}
              />
              <Refusals counts={intervals.map(({ counts }) => counts)} />
              <Sources sources={sources} />
              <Text size="xs" c="dimmed">
                {texts.keys.asOf}
              </Text>
            </Stack>
          )}
        </Loaded>
      </Stack>
    </Paper>
  )
}

/** What was refused, and what to do about it. */
function Refusals({ counts }: { counts: Record<string, number>[] }) {
  const sums = new Map<string, number>()
  for (const one of counts)
    for (const [code, count] of Object.entries(one)) if (code !== 'VALID') sums.set(code, (sums.get(code) ?? 0) + count)
  if (sums.size === 0) return null
  return (
    <Alert color="yellow" title={texts.keys.refusals}>
      {[...sums].map(([code, count]) => (
        <Text size="sm" key={code}>
          <b>
            {code}: {count}.
          </b>{' '}
          {texts.keys.outcomes[code as keyof typeof texts.keys.outcomes] ?? ''}
        </Text>
      ))}
    </Alert>
  )
}

type Source = { ip: string | null; service: string | null; lastUsedAt: string }

function Sources({ sources }: { sources: Source[] }) {
  if (sources.length === 0) return null
  return (
    <div>
      <Table captionSide="top" className="stacks">
        <Table.Caption ta="start" mt={0}>
          {texts.keys.sources}
        </Table.Caption>
        <Table.Tbody>
          {sources.map(({ ip, service, lastUsedAt }) => (
            <Table.Tr key={`${ip} ${service}`}>
              <Table.Td>{ip ?? texts.keys.unknownAddress}</Table.Td>
              <Table.Td>{service}</Table.Td>
              <Table.Td>
                <Time at={lastUsedAt} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
