import { Badge, Code, Grid, Group, Paper, Stack, Table, Tabs, Text } from '@mantine/core'
import type { Key } from '@storekeeper/client'
import { type ReactNode, useState } from 'react'
import { useParams, useSearch } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { lazy } from '../../components/lazy.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'
import { Advice } from './advice.tsx'
import { Credits } from './credits.tsx'
import { KeyUse } from './key-use.tsx'
import { RevokeDialog } from './revoke-dialog.tsx'
import { RotateDialog, RotationState } from './rotation.tsx'
import { KeyStatus } from './row.tsx'

/** Most look, few change: the form is loaded with its tab. */
const EditKey = lazy(() => import('./edit.tsx'), null)

export default function KeyPage() {
  const { storeId = '', keyId = '' } = useParams()
  const key = useRead(['keys', storeId, keyId], (options) => sk.store(storeId).keys.read(keyId, options))
  return <Loaded query={key}>{(apiKey) => <KeyDetail apiKey={apiKey} />}</Loaded>
}

function KeyDetail({ apiKey: key }: { apiKey: Key }) {
  const ended = key.status === 'REVOKED' || key.status === 'EXPIRED'
  return (
    <Page
      title={key.name}
      about={
        <Group gap="xs" component="span">
          <Code>{key.start}…</Code>
          <KeyStatus apiKey={key} />
        </Group>
      }
      actions={<Actions apiKey={key} ended={ended} />}
    >
      {key.rotation && <RotationState apiKey={key} />}
      <Tabs defaultValue="use" keepMounted={false}>
        <Tabs.List>
          {(['use', 'settings', 'edit'] as const)
            .filter((tab) => tab !== 'edit' || !ended)
            .map((tab) => (
              <Tabs.Tab key={tab} value={tab}>
                {texts.keys.detailTabs[tab]}
              </Tabs.Tab>
            ))}
        </Tabs.List>
        <Tabs.Panel value="use" pt="lg">
          <Stack gap="lg">
            <KeyUse apiKey={key} />
            {!ended && <Advice apiKey={key} />}
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="settings" pt="lg">
          <Stack gap="lg">
            <KeyFacts apiKey={key} />
            {key.credits && !ended && <Credits apiKey={key} />}
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="edit" pt="lg">
          <EditKey apiKey={key} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}

/** Once the key has ended there is nothing to do, but the dialog of its revocation still says by when it is refused. */
function Actions({ apiKey: key, ended }: { apiKey: Key; ended: boolean }) {
  const { storeId, id } = key
  const search = useSearch()
  const [dialog, setDialog] = useState<'rotate' | 'revoke' | null>(search === 'rotate' ? 'rotate' : null)
  // On or off does not depend on what else was changed meanwhile.
  const toggle = useWrite((enabled: boolean) => sk.store(storeId).keys.update(id, { enabled }), {
    changes: [['keys', storeId]],
  })
  const close = () => setDialog(null)
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs" display={ended ? 'none' : undefined}>
        <AllowedButton
          storeId={storeId}
          permission="MANAGE_KEYS"
          variant="default"
          loading={toggle.isPending}
          onClick={() => toggle.mutate(!key.enabled)}
        >
          {key.enabled ? texts.keys.bulk.disable : texts.keys.bulk.enable}
        </AllowedButton>
        <AllowedButton storeId={storeId} permission="MANAGE_KEYS" variant="default" onClick={() => setDialog('rotate')}>
          {texts.keys.rotate}
        </AllowedButton>
        <AllowedButton storeId={storeId} permission="MANAGE_KEYS" color="red" onClick={() => setDialog('revoke')}>
          {texts.keys.bulk.revoke}
        </AllowedButton>
      </Group>
      {toggle.error && <Problem error={toggle.error} />}
      {dialog === 'rotate' && <RotateDialog apiKey={key} onClose={close} />}
      {dialog === 'revoke' && <RevokeDialog apiKey={key} onClose={close} />}
    </Stack>
  )
}

function KeyFacts({ apiKey: key }: { apiKey: Key }) {
  const facts: [string, ReactNode][] = [
    [texts.keys.facts.id, <Code key="id">{key.id}</Code>],
    [texts.keys.facts.permissions, <Permissions key="permissions" names={key.permissions} />],
    [texts.keys.facts.created, <Time key="created" at={key.createdAt} />],
    [texts.keys.facts.createdBy, <Code key="by">{key.createdBy.id}</Code>],
    [texts.keys.facts.ends, key.expiresAt ? <Time key="ends" at={key.expiresAt} as="exact" /> : texts.keys.noEnd],
    [texts.keys.facts.places, key.ipAllowlist?.join(', ') ?? texts.keys.anywhere],
    [
      texts.keys.facts.limits,
      [
        ...(key.rateLimit ? [texts.keys.limitText(null, key.rateLimit.limit, key.rateLimit.windowSeconds)] : []),
        ...key.rateLimits.map(({ name, limit, windowSeconds }) => texts.keys.limitText(name, limit, windowSeconds)),
      ].join(', ') || texts.keys.unlimited,
    ],
    [texts.keys.owner, key.owner ?? texts.keys.noOwner],
    ...(key.revokedAt
      ? [
          [texts.keys.facts.revoked, <Time key="revoked" at={key.revokedAt} as="exact" />] as [string, ReactNode],
          [texts.keys.reason, key.revocationReason ?? texts.keys.noReason] as [string, ReactNode],
        ]
      : []),
    ...(key.imported ? [[texts.keys.facts.imported, texts.keys.importedHelp] as [string, ReactNode]] : []),
  ]
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Table variant="vertical" layout="fixed">
          <Table.Tbody>
            {facts.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th w={150}>{name}</Table.Th>
                <Table.Td className="breaks">{value}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Paper withBorder p="md">
          <Stack gap="xs">
            <Text size="sm" fw={600}>
              {texts.keys.metadata}
            </Text>
            <Code block className="scrolls" tabIndex={0}>
              {JSON.stringify(key.metadata, null, 2)}
            </Code>
          </Stack>
        </Paper>
      </Grid.Col>
    </Grid>
  )
}

function Permissions({ names }: { names: string[] }) {
  return (
    <Group gap={6}>
      {names.map((name) => (
        <Badge key={name} variant="light" color="gray">
          {name}
        </Badge>
      ))}
    </Group>
  )
}
