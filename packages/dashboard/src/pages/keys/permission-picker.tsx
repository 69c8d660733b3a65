// What a key may do: all permissions there are, those you may give to tick, the others locked with the reason.

import { Anchor, Checkbox, Fieldset, Group, Stack, Text, TextInput } from '@mantine/core'
import { Lock } from 'lucide-react'
import { useState } from 'react'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { texts } from '../../texts.ts'

type Props = {
  storeId: string
  value: string[]
  onChange: (value: string[]) => void
  error?: React.ReactNode
}

export function PermissionPicker({ storeId, value, onChange, error }: Props) {
  const known = useRead(['permissions'], (options) => sk.permissions.list(options)).data?.data ?? []
  const grantable = useRead(['grantable', storeId], (options) => sk.store(storeId).keys.grantable(options)).data
  const [search, setSearch] = useState('')
  const mine = grantable?.permissions ?? []
  const shown = known.filter(({ permission: name, description }) =>
    `${name} ${description}`.toLowerCase().includes(search.toLowerCase()),
  )
  const toggle = (name: string, on: boolean) =>
    onChange(on ? [...value, name] : value.filter((permission) => permission !== name))
  return (
    <Fieldset legend={texts.keys.permissions}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {texts.keys.permissionsChosen(value.length)}
          </Text>
          <Group gap="sm">
            <Anchor
              component="button"
              type="button"
              size="sm"
              onClick={() => onChange(['READ'].filter((name) => mine.includes(name)))}
            >
              {texts.keys.readOnly}
            </Anchor>
            <Anchor component="button" type="button" size="sm" onClick={() => onChange([])}>
              {texts.keys.chooseNone}
            </Anchor>
          </Group>
        </Group>
        {known.length > 12 && (
          <TextInput
            size="sm"
            aria-label={texts.keys.searchPermissions}
            placeholder={texts.keys.searchPermissions}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        {shown.map(({ permission: name, description }) => {
          const locked = !mine.includes(name)
          return (
            <Checkbox
              key={name}
              label={
                <Group gap={6}>
                  {name}
                  {locked && <Lock size={14} aria-hidden />}
                </Group>
              }
              description={locked ? texts.keys.notYours : description}
              checked={value.includes(name)}
              disabled={locked && !value.includes(name)}
              onChange={(event) => toggle(name, event.currentTarget.checked)}
            />
          )
        })}
        {error && (
          <Text size="sm" c="var(--mantine-color-error)" role="alert" tabIndex={-1}>
            {value.length === 0 ? texts.keys.permissionMissing : error}
          </Text>
        )}
      </Stack>
    </Fieldset>
  )
}
