import {
  Anchor,
  Badge,
  Card,
  Group,
  List,
  Paper,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Title,
} from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Link, Redirect, useParams } from 'wouter'
import { sk, useRead } from '../app/api.ts'
import { useMay, useMembership } from '../app/me.ts'
import { paths } from '../app/paths.ts'
import { Bars } from '../components/bars.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Page } from '../components/page.tsx'
import { Time } from '../components/time.tsx'
import { gather, hoursBetween, localDays, startOfLocalDay } from '../components/usage.ts'
import { texts } from '../texts.ts'
import { inTab, useLiveKeys } from './keys/keys.ts'

const SHOWN = 5
const hourName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' })
const dayName = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })

export default function OverviewPage() {
  const { storeId = '' } = useParams()
  const membership = useMembership(storeId)
  const may = useMay(storeId)
  if (membership?.role === 'CUSTOMER') return <Redirect to={paths.addresses(storeId)} replace />
  return (
    <Page title={membership?.store.name ?? texts.nav.overview}>
      {may('MANAGE_KEYS') ? <StoreUse storeId={storeId} /> : <Text>{texts.app.needs('MANAGE_KEYS')}</Text>}
      <SimpleGrid cols={{ base: 1, md: 2, lg: 3 }}>
        {may('MANAGE_KEYS') && <KeyNotes storeId={storeId} />}
        {may('MANAGE_WEBHOOKS') && <WebhookNotes storeId={storeId} />}
      </SimpleGrid>
    </Page>
  )
}

/** All calls of the store by outcome. */
function StoreUse({ storeId }: { storeId: string }) {
  const [period, setPeriod] = useState<'1' | '7' | '30'>('7')
  const byHour = period === '1'
  const usage = useRead(
    ['usage', storeId, 'all', period],
    async (options) => {
      const to = new Date()
      const from = byHour ? new Date(to.getTime() - 24 * 3_600_000) : startOfLocalDay(to, 1 - Number(period))
      const counted = []
      for await (const { data } of sk.store(storeId).keys.storeUsage({ from, to, interval: 'hour' }, options))
        counted.push(...data)
      return gather(counted, byHour ? hoursBetween(from, to) : localDays(from, to))
    },
    { refetchInterval: 30_000 },
  )
  return (
    <Paper withBorder p="md">
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4">
            {texts.overview.calls}
          </Title>
          <SegmentedControl
            size="xs"
            aria-label={texts.keys.period}
            data={(['1', '7', '30'] as const).map((value) => ({ value, label: texts.keys.periods[value] }))}
            value={period}
            onChange={(value) => setPeriod(value as '1' | '7' | '30')}
          />
        </Group>
        <Loaded query={usage}>
          {(intervals) => (
            <Bars
              intervals={intervals}
              label={texts.keys.periods[period]}
              name={(at) => (byHour ? hourName : dayName).format(at)}
              fileName="calls.csv"
            />
          )}
        </Loaded>
      </Stack>
    </Paper>
  )
}

function KeyNotes({ storeId }: { storeId: string }) {
  const keys = useLiveKeys(storeId)
  return (
    <>
      {(['ending', 'unused', 'never'] as const).map((tab) => (
        <Note key={tab} title={texts.keys.tabs[tab]} href={`${paths.keys(storeId)}?tab=${tab}`}>
          <Loaded query={keys}>
            {(all) => {
              const found = inTab(all, tab)
              if (found.length === 0) return <Text size="sm">{texts.overview.noKeys}</Text>
              return (
                <List size="sm">
                  {found.slice(0, SHOWN).map((key) => (
                    <List.Item key={key.id}>
                      <Anchor component={Link} href={paths.key(storeId, key.id)}>
                        {key.name}
                      </Anchor>{' '}
                      {tab === 'ending' && <Time at={key.expiresAt} />}
                      {tab === 'unused' && <Time at={key.lastUsedAt} />}
                    </List.Item>
                  ))}
                  {found.length > SHOWN && <List.Item>{texts.overview.more(found.length - SHOWN)}</List.Item>}
                </List>
              )
            }}
          </Loaded>
        </Note>
      ))}
    </>
  )
}

function WebhookNotes({ storeId }: { storeId: string }) {
  const webhooks = useRead(['webhooks', storeId], (options) =>
    sk.store(storeId).webhooks.list({}, options).toArray({ max: 100 }),
  )
  return (
    <Note title={texts.nav.webhooks} href={paths.webhooks(storeId)}>
      <Loaded query={webhooks}>
        {(all) => {
          const failing = all.filter(({ failingSince, enabled }) => failingSince !== null || !enabled)
          if (failing.length === 0) return <Text size="sm">{texts.overview.webhooksFine(all.length)}</Text>
          return (
            <List size="sm">
              {failing.map(({ id, url, failingSince }) => (
                <List.Item key={id}>
                  <Anchor component={Link} href={paths.webhook(storeId, id)} className="breaks">
                    {url}
                  </Anchor>{' '}
                  <Badge size="sm" variant="light" color="red">
                    {failingSince ? texts.overview.failing : texts.overview.off}
                  </Badge>{' '}
                  {failingSince && <Time at={failingSince} />}
                </List.Item>
              ))}
            </List>
          )
        }}
      </Loaded>
    </Note>
  )
}

function Note({ title, href, children }: { title: string; href: string; children: ReactNode }) {
  return (
    <Card withBorder>
      <Stack gap="xs">
        <Title order={2} size="h5">
          <Anchor component={Link} href={href} inherit c="var(--mantine-color-text)">
            {title}
          </Anchor>
        </Title>
        {children}
      </Stack>
    </Card>
  )
}
