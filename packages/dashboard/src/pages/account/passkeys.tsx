// The passkeys of an account: adding one, and removing it.

import { Badge, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import type { AddedPasskey, Passkey } from '@storekeeper/client'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Problem } from '../../components/problem.tsx'
import { Section } from '../../components/section.tsx'
import { Time } from '../../components/time.tsx'
import { texts } from '../../texts.ts'
import { createPasskey, hasPasskeys } from '../ways-in/passkey.ts'
import { RecoveryCodesDialog } from './recovery-codes.tsx'
import { inWords } from './user-agent.ts'

const CHANGES = { changes: [['me'], ['passkeys'], ['sessions']] }
const MAX_PASSKEYS = 20

export function Passkeys() {
  const passkeys = useRead(['passkeys'], (options) => sk.passkeys.list({}, options).toArray({ max: MAX_PASSKEYS }))
  const [adding, setAdding] = useState(false)
  const [codes, setCodes] = useState<string[] | null>(null)
  const added = ({ recoveryCodes }: AddedPasskey) => {
    setAdding(false)
    setCodes(recoveryCodes)
  }
  return (
    <Section title={texts.account.passkeys} help={texts.account.passkeysHelp}>
      <Loaded query={passkeys}>
        {(all) => all.map((passkey) => <PasskeyRow key={passkey.id} passkey={passkey} />)}
      </Loaded>
      {hasPasskeys ? (
        <Group>
          <Button variant="default" leftSection={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
            {texts.account.addPasskey}
          </Button>
        </Group>
      ) : (
        <Text size="sm">{texts.account.noPasskeys}</Text>
      )}
      {adding && <AddPasskey onAdded={added} onClose={() => setAdding(false)} />}
      {codes && <RecoveryCodesDialog codes={codes} onDone={() => setCodes(null)} />}
    </Section>
  )
}

function PasskeyRow({ passkey: { id, name, backedUp, createdAt, lastUsedAt } }: { passkey: Passkey }) {
  const [asking, setAsking] = useState(false)
  const remove = useWrite(() => sk.passkeys.delete(id), CHANGES)
  return (
    <Group justify="space-between" wrap="nowrap">
      <Stack gap={2}>
        <Group gap="xs">
          <Text fw={600} className="breaks">
            {name}
          </Text>
          {backedUp && (
            <Badge variant="light" color="gray">
              {texts.account.synced}
            </Badge>
          )}
        </Group>
        <Text size="sm" c="dimmed">
          {texts.account.added} <Time at={createdAt} as="day" />, {texts.account.lastUsed.toLowerCase()}{' '}
          <Time at={lastUsedAt} />
        </Text>
      </Stack>
      <Button size="xs" variant="default" aria-label={texts.account.removeNamed(name)} onClick={() => setAsking(true)}>
        {texts.account.remove}
      </Button>
      <Dialog opened={asking} onClose={() => setAsking(false)} title={texts.account.removeNamed(name)}>
        <Stack>
          <Text size="sm">{texts.account.removePasskeyHelp}</Text>
          <DangerActions
            write={remove}
            label={texts.account.remove}
            onCancel={() => setAsking(false)}
            onConfirm={() => remove.mutate(undefined)}
          />
        </Stack>
      </Dialog>
    </Group>
  )
}

function AddPasskey({ onAdded, onClose }: { onAdded: (passkey: AddedPasskey) => void; onClose: () => void }) {
  const { browser, system } = inWords(navigator.userAgent)
  const form = useServiceForm({ initialValues: { name: texts.account.device(browser, system) } })
  const add = useWrite(async ({ name }: { name: string }, options) => {
    const credential = await createPasskey(await sk.passkeys.options())
    if (!credential) throw new Error(texts.account.noPasskeyMade)
    return sk.passkeys.create({ name, credential }, options)
  }, CHANGES)
  const submit = async ({ name }: { name: string }) => {
    try {
      const passkey = await add.mutateAsync({ name: name.trim() })
      form.resetDirty()
      onAdded(passkey)
    } catch (error) {
      form.showFaults(error)
    }
  }
  return (
    <Dialog opened onClose={onClose} title={texts.account.addPasskey} closeOnClickOutside={false}>
      <form onSubmit={form.onSubmit((values) => void submit(values))}>
        <Stack>
          <TextInput
            required
            data-autofocus
            label={texts.signIn.name}
            description={texts.account.passkeyNameHelp}
            {...form.getInputProps('name')}
          />
          {add.error && form.errors.name === undefined && <Problem error={add.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {texts.app.cancel}
            </Button>
            <Button type="submit" loading={add.isPending}>
              {texts.signIn.continue}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
