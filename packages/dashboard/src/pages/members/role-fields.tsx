// A role, and single permissions below it. What the person who grants does not hold is locked.

import { Checkbox, Radio, Stack, Switch, Text } from '@mantine/core'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { useMembership } from '../../app/me.ts'
import { texts } from '../../texts.ts'

export type Grant = { role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER'; permissions: string[] | null }

type Props = { storeId: string; value: Grant; onChange: (value: Grant) => void }

export function RoleFields({ storeId, value, onChange }: Props) {
  const membership = useMembership(storeId)
  const known = useRead(['permissions'], (options) => sk.permissions.list(options)).data?.data ?? []
  const ofRole = (role: string) => known.filter(({ roles }) => roles.includes(role)).map(({ permission }) => permission)
  const mine = membership?.permissions ?? []
  return (
    <Stack>
      <Radio.Group
        label={texts.members.role}
        value={value.role}
        onChange={(role) => onChange({ role: role as Grant['role'], permissions: null })}
      >
        <Stack gap="xs" mt="xs">
          {(['OWNER', 'MANAGER', 'STAFF', 'CUSTOMER'] as const).map((role) => {
            const beyond =
              role === 'OWNER' ? membership?.role !== 'OWNER' : ofRole(role).some((name) => !mine.includes(name))
            return (
              <Radio
                key={role}
                value={role}
                disabled={beyond}
                label={texts.stores.roles[role]}
                description={beyond ? texts.members.beyondYou : texts.members.roleHelp[role]}
              />
            )
          })}
        </Stack>
      </Radio.Group>
      {value.role !== 'OWNER' && (
        <Switch
          label={texts.members.single}
          checked={value.permissions !== null}
          onChange={(event) =>
            onChange({ ...value, permissions: event.currentTarget.checked ? ofRole(value.role) : null })
          }
        />
      )}
      {value.permissions !== null &&
        known.map(({ permission, description }) => {
          const has = value.permissions?.includes(permission) ?? false
          return (
            <Checkbox
              key={permission}
              label={permission}
              description={mine.includes(permission) ? description : texts.keys.notYours}
              checked={has}
              disabled={!mine.includes(permission) && !has}
              onChange={(event) =>
                onChange({
                  ...value,
                  permissions: event.currentTarget.checked
                    ? [...(value.permissions ?? []), permission]
                    : (value.permissions ?? []).filter((name) => name !== permission),
                })
              }
            />
          )
        })}
      {value.role === 'OWNER' && <Text size="sm">{texts.members.ownerHelp}</Text>}
    </Stack>
  )
}
