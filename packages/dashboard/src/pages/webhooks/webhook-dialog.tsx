// A new webhook, and changing one.

import { Button, Group, Stack, TagsInput, TextInput } from '@mantine/core'
import { isStorekeeperError, type Webhook } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useSecret } from '../../app/secret-provider.tsx'
import { Conflict } from '../../components/conflict.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { type ServiceForm, useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

type Values = { url: string; types: string[]; description: string }
type Input = { url: string; types: string[]; description: string | null }

const valuesOf = (webhook?: Webhook): Values => ({
  url: webhook?.url ?? '',
  types: webhook?.types ?? [],
  description: webhook?.description ?? '',
})

/** Only what was changed here: what somebody else changed meanwhile stays. */
function changed(input: Input, base: Webhook | undefined): Partial<Input> {
  const isChanged = (name: keyof Input) => JSON.stringify(input[name]) !== JSON.stringify(base?.[name] ?? null)
  return Object.fromEntries(Object.entries(input).filter(([name]) => isChanged(name as keyof Input)))
}

/** `key` is typed for `key.*`. */
function asType(typed: string): string {
  return texts.webhooks.knownTypes.find((known) => known === `${typed.toLowerCase()}.*`) ?? typed
}

type Props = { storeId: string; webhook?: Webhook; onClose: () => void; onCreated?: (id: string) => void }

export default function WebhookDialog({ storeId, webhook, onClose, onCreated }: Props) {
  const openSecret = useSecret()
  const [error, setError] = useState<unknown>(null)
  // As it was when the form was filled: what is read later must not pass for what was changed here.
  const [base, setBase] = useState(webhook)
  const [theirs, setTheirs] = useState<Webhook | null>(null)
  const form = useServiceForm<Values>({ initialValues: valuesOf(base) })
  const update = useWrite(
    ({ input, ifMatch }: { input: object; ifMatch: Webhook }) =>
      sk.store(storeId).webhooks.update(ifMatch.id, input, { ifMatch }),
    { changes: [['webhooks', storeId]] },
  )
  const save = async ({ url, types, description }: Values, ifMatch = base) => {
    setError(null)
    const input = { url: url.trim(), types, description: description.trim() || null }
    try {
      if (ifMatch) await update.mutateAsync({ input: changed(input, base), ifMatch })
      else onCreated?.(await openSecret({ operation: 'webhooks.create', storeId, ids: [], input, label: input.url }))
      onClose()
    } catch (failure) {
      if (isStorekeeperError(failure, 'precondition_failed') && base)
        setTheirs(await sk.store(storeId).webhooks.read(base.id))
      else if (!form.showFaults(failure)) setError(failure)
    }
  }
  return (
    <Dialog
      opened
      onClose={onClose}
      title={webhook ? texts.webhooks.edit : texts.webhooks.create}
      dirty={form.isDirty()}
      size="lg"
    >
      <form onSubmit={form.onSubmit((values) => void save(values))}>
        <Stack>
          <WebhookFields form={form} />
          {error !== null && <Problem error={error} />}
          {theirs && (
            <Conflict
              before={valuesOf(base)}
              theirs={valuesOf(theirs)}
              mine={form.getValues()}
              names={texts.webhooks.fieldNames}
              onTakeTheirs={() => {
                setBase(theirs)
                setTheirs(null)
                form.setValues(valuesOf(theirs))
              }}
              onKeepMine={() => void save(form.getValues(), theirs)}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {texts.app.cancel}
            </Button>
            <Button type="submit" loading={update.isPending}>
              {webhook ? texts.app.save : texts.webhooks.createNow}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function WebhookFields({ form }: { form: ServiceForm<Values> }) {
  return (
    <>
      <TextInput
        required
        type="url"
        data-autofocus
        label={texts.webhooks.url}
        description={texts.webhooks.urlHelp}
        {...form.getInputProps('url')}
      />
      <TagsInput
        required
        label={texts.webhooks.types}
        description={texts.webhooks.typesHelp}
        data={texts.webhooks.knownTypes}
        acceptValueOnBlur
        {...form.getInputProps('types')}
        onChange={(types) => form.setFieldValue('types', types.map(asType))}
      />
      <TextInput label={texts.keys.description} {...form.getInputProps('description')} />
    </>
  )
}
