import { Anchor, Badge, Card, Code, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link, Redirect, useParams } from 'wouter'
import { useRead } from '../app/api.ts'
import { sk } from '../app/client.ts'
import { useMay, useMembership } from '../app/me.ts'
import { paths } from '../app/paths.ts'
import { Loaded } from '../components/loaded.tsx'
import { Page } from '../components/page.tsx'
import { Time } from '../components/time.tsx'
import type { Counted } from '../components/usage.ts'
import { UsePlot } from '../components/use-plot.tsx'
import { texts } from '../texts.ts'
import { inTab, useLiveKeys } from './keys/keys.ts'

const SHOWN = 5

export default function OverviewPage() {
  const { storeId = '' } = useParams()
  const membership = useMembership(storeId)
  const may = useMay(storeId)
  const keys = useLiveKeys(storeId, may('MANAGE_KEYS')).data
  if (membership?.role === 'CUSTOMER') return <Redirect to={paths.addresses(storeId)} replace />
  // In a store without keys there is nothing to note yet.
  const isNew = keys?.length === 0
  return (
    <Page title={membership?.store.name ?? texts.nav.overview}>
      {!may('MANAGE_KEYS') && <Text>{texts.app.needs('MANAGE_KEYS')}</Text>}
      {isNew && <FirstSteps storeId={storeId} />}
      {may('MANAGE_KEYS') && <StoreUse storeId={storeId} />}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {may('MANAGE_KEYS') && !isNew && <KeyNotes storeId={storeId} />}
        {may('MANAGE_WEBHOOKS') && <WebhookNotes storeId={storeId} isNew={isNew} />}
      </SimpleGrid>
    </Page>
  )
}

function FirstSteps({ storeId }: { storeId: string }) {
  const steps = [
    { href: paths.newKey(storeId), title: texts.overview.startKey, help: texts.overview.startKeyHelp },
    { href: paths.members(storeId), title: texts.overview.startPeople, help: texts.overview.startPeopleHelp },
    { href: paths.webhooks(storeId), title: texts.overview.startWebhook, help: texts.overview.startWebhookHelp },
  ]
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {texts.overview.start}
      </Title>
      <SimpleGrid cols={{ base: 1, md: 3 }}>
        {steps.map(({ href, title, help }) => (
          <Card key={href} withBorder>
            <Anchor component={Link} href={href} fw={600}>
              {title}
            </Anchor>
            <Text size="sm" c="dimmed">
              {help}
            </Text>
          </Card>
        ))}
      </SimpleGrid>
    </Stack>
  )
}

/** All calls of the store by outcome. */
function StoreUse({ storeId }: { storeId: string }) {
  return (
    <UsePlot
      title={texts.overview.calls}
      readKey={['usage', storeId, 'all']}
      read={async (query, options) => {
        const counted: Counted[] = []
        for await (const { data } of sk.store(storeId).keys.storeUsage(query, options)) counted.push(...data)
        return counted
      }}
      fileName="calls.csv"
    />
  )
}

function KeyNotes({ storeId }: { storeId: string }) {
  const keys = useLiveKeys(storeId)
  return (
    <>
      {(['ending', 'unused', 'never'] as const).map((tab) => (
        <Note key={tab} title={texts.overview.notes[tab]} href={`${paths.keys(storeId)}?tab=${tab}`}>
          <Loaded query={keys}>
            {(all) => {
              const found = inTab(all, tab)
              if (found.length === 0)
                return (
                  <Text size="sm" c="dimmed">
                    {texts.overview.noKeys}
                  </Text>
                )
              return (
                <ul className="rows rows-plain">
                  {found.slice(0, SHOWN).map((key) => (
                    <li key={key.id}>
                      <Anchor component={Link} href={paths.key(storeId, key.id)} inherit>
                        {key.name}
                      </Anchor>
                      <Text span size="sm" c="dimmed">
                        {tab === 'ending' && <Time at={key.expiresAt} />}
                        {tab === 'unused' && <Time at={key.lastUsedAt} />}
                        {tab === 'never' && <Code>{key.start}…</Code>}
                      </Text>
                    </li>
                  ))}
                  {found.length > SHOWN && <li>{texts.overview.more(found.length - SHOWN)}</li>}
                </ul>
              )
            }}
          </Loaded>
        </Note>
      ))}
    </>
  )
}

function WebhookNotes({ storeId, isNew }: { storeId: string; isNew: boolean }) {
  const webhooks = useRead(['webhooks', storeId], (options) =>
    sk.store(storeId).webhooks.list({}, options).toArray({ max: 100 }),
  )
  if (isNew && !webhooks.data?.length) return null
  return (
    <Note title={texts.nav.webhooks} href={paths.webhooks(storeId)}>
      <Loaded query={webhooks}>
        {(all) => {
          const failing = all.filter(({ failingSince, enabled }) => failingSince !== null || !enabled)
          if (failing.length === 0)
            return (
              <Text size="sm" c="dimmed">
                {texts.overview.webhooksFine(all.length)}
              </Text>
            )
          return (
            <ul className="rows rows-plain">
              {failing.map(({ id, url, failingSince }) => (
                <li key={id}>
                  <Anchor component={Link} href={paths.webhook(storeId, id)} className="breaks" inherit>
                    {url}
                  </Anchor>
                  <Group gap="xs">
                    <Badge size="sm" variant="light" color={failingSince ? 'red' : 'gray'}>
                      {failingSince ? texts.overview.failing : texts.overview.off}
                    </Badge>
                    {failingSince && (
                      <Text span size="sm" c="dimmed">
                        <Time at={failingSince} />
                      </Text>
                    )}
                  </Group>
                </li>
              ))}
            </ul>
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
