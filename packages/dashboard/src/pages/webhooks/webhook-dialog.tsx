// A new webhook, and changing one.

import { Button, Group, Stack, TagsInput, TextInput } from '@mantine/core'
import type { Webhook } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useSecret } from '../../app/secret-provider.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

type Values = { url: string; types: string[]; description: string }
type Props = { storeId: string; webhook?: Webhook; onClose: () => void; onCreated?: (id: string) => void }

export function WebhookDialog({ storeId, webhook, onClose, onCreated }: Props) {
  const openSecret = useSecret()
  const [error, setError] = useState<unknown>(null)
  const form = useServiceForm<Values>({
    initialValues: {
      url: webhook?.url ?? '',
      types: webhook?.types ?? [],
      description: webhook?.description ?? '',
    },
  })
  const update = useWrite(
    (input: object) => sk.store(storeId).webhooks.update(webhook?.id ?? '', input, webhook ? { ifMatch: webhook } : {}),
    { changes: [['webhooks', storeId]] },
  )
  const save = async ({ url, types, description }: Values) => {
    setError(null)
    const input = { url: url.trim(), types, description: description.trim() || null }
    try {
      if (webhook) await update.mutateAsync(input)
      else onCreated?.(await openSecret({ operation: 'webhooks.create', storeId, ids: [], input, label: input.url }))
      onClose()
    } catch (failure) {
      if (!form.showFaults(failure)) setError(failure)
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
          />
          <TextInput maxLength={500} label={texts.keys.description} {...form.getInputProps('description')} />
          {error !== null && <Problem error={error} />}
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
