import { Badge, Button, Code, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import type { ServiceToken } from '@storekeeper/client'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useParams } from 'wouter'
import { useRead, useWrite } from '../app/api.ts'
import { sk } from '../app/client.ts'
import { useMay } from '../app/me.ts'
import { useSecret } from '../app/secret-provider.tsx'
import { AllowedButton } from '../components/allowed.tsx'
import { DangerActions } from '../components/danger-actions.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Empty } from '../components/empty.tsx'
import { useServiceForm } from '../components/form.ts'
import { Loaded } from '../components/loaded.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Time } from '../components/time.tsx'
import { texts } from '../texts.ts'

export default function ServiceTokensPage() {
  const { storeId = '' } = useParams()
  const [creating, setCreating] = useState(false)
  const may = useMay(storeId)('OWNER')
  return (
    <Page
      title={texts.nav.serviceTokens}
      about={texts.serviceTokens.about}
      actions={
        <AllowedButton
          storeId={storeId}
          permission="OWNER"
          leftSection={<Plus size={16} aria-hidden />}
          onClick={() => setCreating(true)}
        >
          {texts.serviceTokens.create}
        </AllowedButton>
      }
    >
      {may ? <Tokens storeId={storeId} /> : <Text>{texts.app.needs('OWNER')}</Text>}
      {creating && <CreateDialog storeId={storeId} onClose={() => setCreating(false)} />}
    </Page>
  )
}

function Tokens({ storeId }: { storeId: string }) {
  const tokens = useRead(['serviceTokens', storeId], (options) =>
    sk.store(storeId).serviceTokens.list({}, options).toArray({ max: 200 }),
  )
  return (
    <Loaded query={tokens}>
      {(all) =>
        all.length === 0 ? (
          <Empty title={texts.serviceTokens.none}>{texts.serviceTokens.noneHelp}</Empty>
        ) : (
          <div className="rows">
            <Table verticalSpacing="sm" className="stacks">
              <Table.Thead>
                <Table.Tr>
                  {texts.serviceTokens.columns.map((column) => (
                    <Table.Th key={column}>{column}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {all.map((token) => (
                  <TokenRow key={token.id} storeId={storeId} token={token} />
                ))}
              </Table.Tbody>
            </Table>
          </div>
        )
      }
    </Loaded>
  )
}

function TokenRow({ storeId, token: { id, name, createdAt, revokedAt } }: { storeId: string; token: ServiceToken }) {
  const [asking, setAsking] = useState(false)
  const revoke = useWrite(() => sk.store(storeId).serviceTokens.revoke(id), { changes: [['serviceTokens', storeId]] })
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600}>{name}</Text>
        <Code>{id}</Code>
      </Table.Td>
      <Table.Td>
        <Time at={createdAt} as="day" />
      </Table.Td>
      <Table.Td>
        {revokedAt ? (
          <Badge variant="light" color="red">
            {texts.serviceTokens.revoked}
          </Badge>
        ) : (
          <Button size="xs" variant="default" onClick={() => setAsking(true)}>
            {texts.keys.bulk.revoke}
          </Button>
        )}
        <Dialog opened={asking} onClose={() => setAsking(false)} title={texts.serviceTokens.revokeAsk(name)}>
          <Stack>
            <Text size="sm">{texts.serviceTokens.revokeHelp}</Text>
            <DangerActions
              write={revoke}
              label={texts.keys.bulk.revoke}
              onCancel={() => setAsking(false)}
              onConfirm={() => revoke.mutate(undefined, { onSuccess: () => setAsking(false) })}
            />
          </Stack>
        </Dialog>
      </Table.Td>
    </Table.Tr>
  )
}

function CreateDialog({ storeId, onClose }: { storeId: string; onClose: () => void }) {
  const openSecret = useSecret()
  const [error, setError] = useState<unknown>(null)
  const form = useServiceForm({ initialValues: { name: '' } })
  const create = async ({ name }: { name: string }) => {
    setError(null)
    const input = { name: name.trim() }
    try {
      await openSecret({ operation: 'serviceTokens.create', storeId, ids: [], input, label: input.name })
      onClose()
    } catch (failure) {
      if (!form.showFaults(failure)) setError(failure)
    }
  }
  return (
    <Dialog opened onClose={onClose} title={texts.serviceTokens.create} dirty={form.isDirty()}>
      <form onSubmit={form.onSubmit((values) => void create(values))}>
        <Stack>
          <TextInput
            required
            data-autofocus
            label={texts.serviceTokens.name}
            description={texts.serviceTokens.nameHelp}
            {...form.getInputProps('name')}
          />
          {error !== null && <Problem error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {texts.app.cancel}
            </Button>
            <Button type="submit">{texts.serviceTokens.createNow}</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
