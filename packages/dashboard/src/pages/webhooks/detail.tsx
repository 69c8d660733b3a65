import { Code, Group, Paper, Stack, Text, Title } from '@mantine/core'
import type { Webhook } from '@storekeeper/client'
import { useState } from 'react'
import { useLocation, useParams } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { useSecret } from '../../app/secret-provider.tsx'
import { AllowedButton } from '../../components/allowed.tsx'
import { Copy } from '../../components/copy.tsx'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { lazy } from '../../components/lazy.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'
import { Deliveries } from './deliveries.tsx'
import { DeliveriesPlot } from './deliveries-plot.tsx'
import { WebhookHealth } from './list.tsx'
import { Missed } from './missed.tsx'

const WebhookDialog = lazy(() => import('./webhook-dialog.tsx'), null)

export default function WebhookPage() {
  const { storeId = '', webhookId = '' } = useParams()
  const webhook = useRead(['webhooks', storeId, webhookId], (options) =>
    sk.store(storeId).webhooks.read(webhookId, options),
  )
  return <Loaded query={webhook}>{(read) => <WebhookDetail webhook={read} />}</Loaded>
}

function WebhookDetail({ webhook }: { webhook: Webhook }) {
  return (
    <Page
      title={webhook.url}
      about={
        <Group gap="xs" component="span">
          <WebhookHealth webhook={webhook} />
          {webhook.description}
        </Group>
      }
      actions={<Actions webhook={webhook} />}
    >
      {webhook.rotation && (
        <Text size="sm">
          {texts.webhooks.bothSecrets} <Time at={webhook.rotation.previousExpiresAt} />.
        </Text>
      )}
      <DeliveriesPlot webhook={webhook} />
      <Deliveries webhook={webhook} />
      <Missed webhook={webhook} />
      <Snippet />
    </Page>
  )
}

function Actions({ webhook }: { webhook: Webhook }) {
  const { storeId, id, enabled } = webhook
  const openSecret = useSecret()
  const [, navigate] = useLocation()
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const changes = [
    ['webhooks', storeId],
    ['deliveries', storeId, id],
  ]
  const toggle = useWrite(
    (on: boolean) => sk.store(storeId).webhooks.update(id, { enabled: on }, { ifMatch: webhook }),
    {
      changes,
    },
  )
  const test = useWrite((_: null, options) => sk.store(storeId).webhooks.test(id, options), { changes })
  const remove = useWrite(() => sk.store(storeId).webhooks.delete(id), { ends: [['webhooks', storeId]] })
  const [rotationError, setRotationError] = useState<unknown>(null)
  const rotate = () =>
    openSecret({ operation: 'webhooks.rotate', storeId, ids: [id], input: {}, label: webhook.url }).catch(
      setRotationError,
    )
  const error = toggle.error ?? test.error ?? rotationError
  const may = { storeId, permission: 'MANAGE_WEBHOOKS', variant: 'default', size: 'xs' } as const
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        <AllowedButton {...may} loading={test.isPending} onClick={() => test.mutate(null)}>
          {texts.webhooks.test}
        </AllowedButton>
        <AllowedButton {...may} onClick={() => setDialog('edit')}>
          {texts.webhooks.edit}
        </AllowedButton>
        <AllowedButton {...may} loading={toggle.isPending} onClick={() => toggle.mutate(!enabled)}>
          {enabled ? texts.keys.bulk.disable : texts.keys.bulk.enable}
        </AllowedButton>
        <AllowedButton {...may} onClick={() => void rotate()}>
          {texts.webhooks.rotate}
        </AllowedButton>
        <AllowedButton {...may} color="red" variant="outline" onClick={() => setDialog('delete')}>
          {texts.webhooks.delete}
        </AllowedButton>
      </Group>
      {error !== null && <Problem error={error} />}
      {dialog === 'edit' && <WebhookDialog storeId={storeId} webhook={webhook} onClose={() => setDialog(null)} />}
      <Dialog opened={dialog === 'delete'} onClose={() => setDialog(null)} title={texts.webhooks.deleteAsk}>
        <Stack>
          <Text size="sm">{texts.webhooks.deleteHelp}</Text>
          <DangerActions
            write={remove}
            label={texts.webhooks.delete}
            onCancel={() => setDialog(null)}
            onConfirm={() => remove.mutate(undefined, { onSuccess: () => navigate(paths.webhooks(storeId)) })}
          />
        </Stack>
      </Dialog>
    </Stack>
  )
}

/** How a receiver checks a message. */
function Snippet() {
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Group justify="space-between">
          <Title order={2} size="h5">
            {texts.webhooks.snippet}
          </Title>
          <Copy text={texts.webhooks.code} />
        </Group>
        <Code block className="scrolls" tabIndex={0}>
          {texts.webhooks.code}
        </Code>
      </Stack>
    </Paper>
  )
}
