// How many messages arrived and how many failed, by the reader's own days.

import { Paper, Stack, Title } from '@mantine/core'
import type { Webhook } from '@storekeeper/client'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { Bars } from '../../components/bars.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { gather, localDays, startOfLocalDay } from '../../components/usage.ts'
import { texts } from '../../texts.ts'

const DAYS = 7
const MAX_READ = 500
const dayName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })
const dayMark = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' })
const WORDS = { valid: texts.webhooks.statuses.DELIVERED, refused: texts.webhooks.statuses.FAILED }

export function DeliveriesPlot({ webhook: { storeId, id } }: { webhook: Webhook }) {
  const deliveries = useRead(['deliveries', storeId, id, 'plot'], (options) =>
    sk.store(storeId).deliveries.list(id, {}, options).toArray({ max: MAX_READ }),
  )
  return (
    <Loaded query={deliveries}>
      {(all) => {
        if (all.length === 0) return null
        const now = new Date()
        const settled = all.filter(({ status }) => status !== 'PENDING')
        const counted = settled.map(({ createdAt, status }) => ({
          at: createdAt,
          counts: { [status === 'DELIVERED' ? 'VALID' : status]: 1 },
        }))
        return (
          <Paper withBorder p="md">
            <Stack>
              <Title order={2} size="h4">
                {texts.webhooks.overTime}
              </Title>
              <Bars
                intervals={gather(counted, localDays(startOfLocalDay(now, 1 - DAYS), now))}
                label={texts.webhooks.overTimeLabel(MAX_READ, all.length < MAX_READ)}
                name={(at) => dayName.format(at)}
                mark={(at) => dayMark.format(at)}
                fileName="messages.csv"
                words={WORDS}
              />
            </Stack>
          </Paper>
        )
      }}
    </Loaded>
  )
}
