// The settings of a store, its freeze, and its end.

import { Alert, Button, Group, Paper, Radio, Stack, Text, TextInput, Title } from '@mantine/core'
import { isStorekeeperError, type Store } from '@storekeeper/client'
import { useState } from 'react'
import { useLocation, useParams } from 'wouter'
import { useRead, useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useMay } from '../../app/me.ts'
import { paths } from '../../app/paths.ts'
import { AllowedButton } from '../../components/allowed.tsx'
import { Conflict } from '../../components/conflict.tsx'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Loaded } from '../../components/loaded.tsx'
import { NumberInput } from '../../components/number-input.tsx'
import { Page } from '../../components/page.tsx'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

export default function StoreSettingsPage() {
  const { storeId = '' } = useParams()
  const store = useRead(['stores', storeId], (options) => sk.stores.read(storeId, options))
  return (
    <Page title={texts.nav.settings}>
      <Loaded query={store}>
        {(read) => (
          <Stack gap="xl" maw={640}>
            <SettingsForm key={storeId} store={read} />
            <Freeze store={read} />
            <DeleteStore store={read} />
          </Stack>
        )}
      </Loaded>
    </Page>
  )
}

type Values = { name: string; registration: string; leakGraceSeconds: number }
const valuesOf = ({ name, registration, leakGraceSeconds }: Store): Values => ({ name, registration, leakGraceSeconds })

function SettingsForm({ store }: { store: Store }) {
  const may = useMay(store.id)('MANAGE_STORE')
  const [base, setBase] = useState(store)
  const [theirs, setTheirs] = useState<Store | null>(null)
  const form = useServiceForm<Values>({ initialValues: valuesOf(base) })
  const save = useWrite(
    (ifMatch: Store) => {
      // Only what was changed here: what somebody else changed meanwhile stays.
      const [before, now] = [valuesOf(base), form.getValues()]
      const changed = (Object.keys(now) as (keyof Values)[]).filter((name) => now[name] !== before[name])
      const changes = Object.fromEntries(changed.map((name) => [name, now[name]]))
      return sk.stores.update(store.id, changes as never, { ifMatch })
    },
    { changes: [['stores'], ['me']] },
  )
  const send = async (ifMatch: Store) => {
    try {
      const saved = await save.mutateAsync(ifMatch)
      setBase(saved)
      setTheirs(null)
      form.setInitialValues(valuesOf(saved))
      form.reset()
    } catch (error) {
      form.showFaults(error)
      if (isStorekeeperError(error, 'precondition_failed')) setTheirs(await sk.stores.read(store.id))
    }
  }
  return (
    <form onSubmit={form.onSubmit(() => void send(base))}>
      <Stack>
        <TextInput required disabled={!may} label={texts.stores.name} {...form.getInputProps('name')} />
        <Radio.Group label={texts.stores.registration} {...form.getInputProps('registration')}>
          <Stack gap="xs" mt="xs">
            {(['CLOSED', 'OPEN'] as const).map((value) => (
              <Radio key={value} value={value} disabled={!may} label={texts.stores.registrations[value]} />
            ))}
          </Stack>
        </Radio.Group>
        <NumberInput
          min={0}
          max={604_800}
          disabled={!may}
          label={texts.stores.leakGrace}
          description={texts.stores.leakGraceHelp}
          {...form.getInputProps('leakGraceSeconds')}
        />
        {theirs ? (
          <Conflict
            before={valuesOf(base)}
            theirs={valuesOf(theirs)}
            mine={form.getValues()}
            names={texts.stores.fieldNames}
            onTakeTheirs={() => {
              setBase(theirs)
              setTheirs(null)
              form.setValues(valuesOf(theirs))
            }}
            onKeepMine={() => void send(theirs)}
          />
        ) : (
          save.error && <Problem error={save.error} />
        )}
        <Group>
          <AllowedButton
            storeId={store.id}
            permission="MANAGE_STORE"
            type="submit"
            loading={save.isPending}
            disabled={!form.isDirty()}
          >
            {texts.app.save}
          </AllowedButton>
          <Text size="sm" role="status">
            {save.isSuccess && !form.isDirty() && texts.app.saved}
          </Text>
        </Group>
      </Stack>
    </form>
  )
}

/** All keys of the store at once; it can be undone. */
function Freeze({ store }: { store: Store }) {
  const frozen = store.frozenAt !== null
  const [asking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const change = useWrite(
    (freeze: boolean, options) =>
      freeze ? sk.store(store.id).keys.freeze(options) : sk.store(store.id).keys.unfreeze(options),
    { changes: [['stores'], ['me'], ['keys', store.id]] },
  )
  return (
    <Paper withBorder p="md">
      <Stack align="flex-start">
        <Title order={2} size="h4">
          {texts.stores.freezeTitle}
        </Title>
        <Text size="sm">{texts.stores.freezeHelp}</Text>
        <AllowedButton
          storeId={store.id}
          permission="MANAGE_KEYS"
          color={frozen ? undefined : 'red'}
          onClick={() => (frozen ? change.mutate(false) : setAsking(true))}
          loading={change.isPending}
        >
          {frozen ? texts.stores.unfreeze : texts.stores.freeze}
        </AllowedButton>
        {change.error && <Problem error={change.error} />}
      </Stack>
      <Dialog opened={asking} onClose={() => setAsking(false)} title={texts.stores.freezeAsk(store.name)}>
        <Stack>
          <Alert color="red">{texts.stores.freezeWarning}</Alert>
          <TextInput
            data-autofocus
            label={texts.stores.typeName(store.name)}
            value={typed}
            autoComplete="off"
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsking(false)}>
              {texts.app.cancel}
            </Button>
            <Button
              color="red"
              disabled={typed.trim() !== store.name}
              onClick={() => {
                change.mutate(true)
                setAsking(false)
                setTyped('')
              }}
            >
              {texts.stores.freeze}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </Paper>
  )
}

function DeleteStore({ store }: { store: Store }) {
  const [, navigate] = useLocation()
  const [typed, setTyped] = useState<string | null>(null)
  const remove = useWrite(() => sk.stores.delete(store.id), { changes: [['me']], ends: [['stores']] })
  return (
    <Paper withBorder p="md">
      <Stack align="flex-start">
        <Title order={2} size="h4">
          {texts.stores.deleteTitle}
        </Title>
        <Text size="sm">{texts.stores.deleteHelp}</Text>
        <AllowedButton storeId={store.id} permission="OWNER" color="red" variant="outline" onClick={() => setTyped('')}>
          {texts.stores.delete}
        </AllowedButton>
      </Stack>
      <Dialog opened={typed !== null} onClose={() => setTyped(null)} title={texts.stores.deleteAsk(store.name)}>
        <Stack>
          <Text size="sm">{texts.stores.deleteHelp}</Text>
          <TextInput
            data-autofocus
            label={texts.stores.typeName(store.name)}
            value={typed ?? ''}
            autoComplete="off"
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <DangerActions
            write={remove}
            label={texts.stores.delete}
            disabled={typed?.trim() !== store.name}
            onCancel={() => setTyped(null)}
            onConfirm={() => remove.mutate(undefined, { onSuccess: () => navigate(paths.stores) })}
          />
        </Stack>
      </Dialog>
    </Paper>
  )
}
