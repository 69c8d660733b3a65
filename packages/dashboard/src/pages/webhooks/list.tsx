import { Anchor, Badge, Card, Group, Stack, Text } from '@mantine/core'
import type { Webhook } from '@storekeeper/client'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Empty } from '../../components/empty.tsx'
import { lazy } from '../../components/lazy.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'

function useWebhooks(storeId: string) {
  return useRead(['webhooks', storeId], (options) => sk.store(storeId).webhooks.list({}, options).toArray({ max: 200 }))
}

const WebhookDialog = lazy(() => import('./webhook-dialog.tsx'), null)

export default function WebhooksPage() {
  const { storeId = '' } = useParams()
  const [, navigate] = useLocation()
  const [creating, setCreating] = useState(false)
  const webhooks = useWebhooks(storeId)
  const create = (
    <AllowedButton
      storeId={storeId}
      permission="MANAGE_WEBHOOKS"
      leftSection={<Plus size={16} aria-hidden />}
      onClick={() => setCreating(true)}
    >
      {texts.webhooks.create}
    </AllowedButton>
  )
  return (
    <Page title={texts.nav.webhooks} about={texts.webhooks.about} actions={create}>
      <Loaded query={webhooks}>
        {(all) =>
          all.length === 0 ? (
            <Empty title={texts.webhooks.none}>{texts.webhooks.noneHelp}</Empty>
          ) : (
            <Stack>
              {all.map((webhook) => (
                <WebhookCard key={webhook.id} webhook={webhook} />
              ))}
            </Stack>
          )
        }
      </Loaded>
      {creating && (
        <WebhookDialog
          storeId={storeId}
          onClose={() => setCreating(false)}
          onCreated={(id) => navigate(paths.webhook(storeId, id))}
        />
      )}
    </Page>
  )
}

function WebhookCard({ webhook }: { webhook: Webhook }) {
  const { id, storeId, url, types, description } = webhook
  return (
    <Card withBorder>
      <Group justify="space-between">
        <Anchor component={Link} href={paths.webhook(storeId, id)} fw={600} className="breaks">
          {url}
        </Anchor>
        <WebhookHealth webhook={webhook} />
      </Group>
      {description && <Text size="sm">{description}</Text>}
      <Group gap={6} mt={6}>
        {types.map((type) => (
          <Badge key={type} variant="light" color={type === '*' ? 'yellow' : 'gray'} tt="none">
            {type === '*' ? texts.webhooks.everything : type}
          </Badge>
        ))}
      </Group>
    </Card>
  )
}

/** Whether messages arrive. */
export function WebhookHealth({ webhook: { enabled, disabledReason, failingSince } }: { webhook: Webhook }) {
  if (!enabled)
    return (
      <Badge variant="light" color="gray" tt="none">
        {texts.webhooks.off[disabledReason as keyof typeof texts.webhooks.off] ?? texts.webhooks.off.REQUESTED}
      </Badge>
    )
  if (failingSince)
    return (
      <Group gap={6}>
        <Badge variant="light" color="red" tt="none">
          {texts.webhooks.failing}
        </Badge>
        <Text size="sm">
          <Time at={failingSince} />
        </Text>
      </Group>
    )
  return (
    <Badge variant="light" color="green" tt="none">
      {texts.webhooks.works}
    </Badge>
  )
}
