// Changing a key. The form keeps the record that it was filled from: when somebody else has changed the key since, their
// change is shown beside what was typed, and nothing is lost.

import { Button, Group, Stack, TextInput } from '@mantine/core'
import { isStorekeeperError, type Key } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { Conflict } from '../../components/conflict.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { MoreKeyFields } from './key-fields.tsx'
import { type KeyValues, toChanges, toValues } from './key-form.ts'
import { PermissionPicker } from './permission-picker.tsx'

export default function EditKey({ apiKey }: { apiKey: Key }) {
  const [base, setBase] = useState(apiKey)
  const [theirs, setTheirs] = useState<Key | null>(null)
  const { storeId, id } = base
  const form = useServiceForm<KeyValues>({ initialValues: toValues(base) })
  const save = useWrite(
    (ifMatch: Key) => sk.store(storeId).keys.update(id, toChanges(form.getValues(), base), { ifMatch }),
    { changes: [['keys', storeId]] },
  )
  const send = async (ifMatch: Key) => {
    try {
      const saved = await save.mutateAsync(ifMatch)
      setBase(saved)
      setTheirs(null)
      form.setInitialValues(toValues(saved))
      form.reset()
    } catch (error) {
      form.showFaults(error)
      if (isStorekeeperError(error, 'precondition_failed')) setTheirs(await sk.store(storeId).keys.read(id))
    }
  }
  const placed = isStorekeeperError(save.error) && save.error.errors.length > 0
  return (
    <form onSubmit={form.onSubmit(() => void send(base))}>
      <Stack gap="lg" maw={640}>
        <TextInput required label={texts.keys.name} {...form.getInputProps('name')} />
        <PermissionPicker
          storeId={storeId}
          value={form.getValues().permissions}
          onChange={(permissions) => form.setFieldValue('permissions', permissions)}
          error={form.errors.permissions}
        />
        <MoreKeyFields form={form} />
        {theirs ? (
          <Conflict
            before={toValues(base)}
            theirs={toValues(theirs)}
            mine={form.getValues()}
            names={texts.keys.fieldNames}
            onTakeTheirs={() => {
              setBase(theirs)
              setTheirs(null)
              form.setValues(toValues(theirs))
            }}
            onKeepMine={() => void send(theirs)}
          />
        ) : (
          save.error && !placed && <Problem error={save.error} />
        )}
        <Group>
          <Button type="submit" loading={save.isPending} disabled={!form.isDirty()}>
            {texts.app.save}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
