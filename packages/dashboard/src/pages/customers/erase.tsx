// Erasing a customer: what goes, what stays, and what becomes of the keys they own.

import { Alert, Button, Group, List, Paper, Radio, Stack, Text, TextInput, Title } from '@mantine/core'
import type { Customer, ErasedCustomer } from '@storekeeper/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useMay } from '../../app/me.ts'
import { paths } from '../../app/paths.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'

type Props = { storeId: string; customer: Customer }

export function EraseCustomer({ storeId, customer }: Props) {
  const [asking, setAsking] = useState(false)
  return (
    <Paper withBorder p="md" maw={640}>
      <Stack align="flex-start">
        <Title order={2} size="h4">
          {texts.customers.eraseTitle}
        </Title>
        <Text size="sm">{texts.customers.eraseHelp}</Text>
        <AllowedButton
          storeId={storeId}
          permission="MANAGE_CUSTOMERS"
          color="red"
          variant="outline"
          onClick={() => setAsking(true)}
        >
          {texts.customers.erase}
        </AllowedButton>
      </Stack>
      {asking && <EraseDialog storeId={storeId} customer={customer} onClose={() => setAsking(false)} />}
    </Paper>
  )
}

const MAX_COUNTED = 1_000

function EraseDialog({ storeId, customer: { externalId }, onClose }: Props & { onClose: () => void }) {
  const mayKeys = useMay(storeId)('MANAGE_KEYS')
  const [keys, setKeys] = useState<'keep' | 'revoke'>('keep')
  const [typed, setTyped] = useState('')
  const owned = useRead(
    ['keys', storeId, 'owner', externalId],
    (options) =>
      sk.store(storeId).keys.list({ owner: externalId, status: 'ACTIVE' }, options).toArray({ max: MAX_COUNTED }),
    { enabled: mayKeys },
  ).data
  const erase = useWrite((how: 'keep' | 'revoke') => sk.store(storeId).customers.erase(externalId, { keys: how }), {
    changes: [['keys', storeId]],
    ends: [['customers', storeId]],
  })
  if (erase.data) return <Erased storeId={storeId} erased={erase.data} />
  return (
    <Dialog opened onClose={onClose} title={texts.customers.eraseAsk(externalId)} dirty={typed !== ''}>
      <Stack>
        <Alert color="red">{texts.customers.exportFirst}</Alert>
        {owned?.length === 0 ? (
          <Text size="sm">{texts.customers.keys(0)}</Text>
        ) : (
          <Radio.Group
            label={owned ? texts.customers.keys(owned.length) : texts.customers.keysUnknown}
            value={keys}
            onChange={(how) => setKeys(how as 'keep' | 'revoke')}
          >
            <Stack gap="xs" mt="xs">
              <Radio value="keep" label={texts.customers.keysKeep} />
              <Radio
                value="revoke"
                label={texts.customers.keysRevoke}
                disabled={!mayKeys}
                description={mayKeys ? undefined : texts.app.needs('MANAGE_KEYS')}
              />
            </Stack>
          </Radio.Group>
        )}
        <TextInput
          data-autofocus
          label={texts.customers.typeId(externalId)}
          value={typed}
          autoComplete="off"
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <DangerActions
          write={erase}
          label={texts.customers.erase}
          disabled={typed.trim() !== externalId}
          onCancel={onClose}
          onConfirm={() => erase.mutate(keys)}
        />
      </Stack>
    </Dialog>
  )
}

/** The receipt. The customer is gone, so there is one way on. */
function Erased({ storeId, erased: { held, keys } }: { storeId: string; erased: ErasedCustomer }) {
  return (
    <Dialog
      opened
      onClose={() => {}}
      title={texts.customers.erasedTitle}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      <Stack role="status">
        {held.length === 0 ? (
          <Text size="sm">{texts.customers.erasedNothing}</Text>
        ) : (
          <>
            <Text size="sm">{texts.customers.erasedHeld}</Text>
            <List size="sm">
              {held.map(({ addressId, version, reason, until }) => (
                <List.Item key={`${addressId} ${version}`} className="breaks">
                  <Link href={`${paths.invoicingAddress(storeId, addressId)}?version=${version}`}>
                    {addressId} {version}
                  </Link>
                  : {reason}, {texts.addresses.held} <Time at={until} as="day" />
                </List.Item>
              ))}
            </List>
          </>
        )}
        {keys.length > 0 && (
          <>
            <Text size="sm">{texts.customers.erasedKeys}</Text>
            <List size="sm">
              {keys.map(({ id, name, status }) => (
                <List.Item key={id}>
                  {name}: {status}
                </List.Item>
              ))}
            </List>
          </>
        )}
        <Group justify="flex-end">
          <Button component={Link} href={paths.customers(storeId)} data-autofocus>
            {texts.customers.backToList}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
