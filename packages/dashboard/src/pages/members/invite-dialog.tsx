// Inviting somebody. The link is a secret that is shown once, whether or not it is mailed as well.

import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useSecret } from '../../app/secret-provider.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { type Grant, RoleFields } from './role-fields.tsx'

export function InviteDialog({ storeId, onClose }: { storeId: string; onClose: () => void }) {
  const openSecret = useSecret()
  const [grant, setGrant] = useState<Grant>({ role: 'STAFF', permissions: null })
  const [error, setError] = useState<unknown>(null)
  const form = useServiceForm({ initialValues: { email: '' } })
  const invite = async ({ email }: { email: string }) => {
    setError(null)
    const input = {
      email: email.trim(),
      role: grant.role,
      ...(grant.permissions ? { permissions: grant.permissions } : {}),
    }
    try {
      await openSecret({ operation: 'invitations.create', storeId, ids: [], input, label: input.email })
      onClose()
    } catch (failure) {
      if (!form.showFaults(failure)) setError(failure)
    }
  }
  return (
    <Dialog opened onClose={onClose} title={texts.members.invite} dirty={form.isDirty()} size="lg">
      <form onSubmit={form.onSubmit((values) => void invite(values))}>
        <Stack>
          <TextInput
            required
            type="email"
            data-autofocus
            label={texts.signIn.email}
            description={texts.members.emailHelp}
            {...form.getInputProps('email')}
          />
          <RoleFields storeId={storeId} value={grant} onChange={setGrant} />
          {error !== null && <Problem error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {texts.app.cancel}
            </Button>
            <Button type="submit">{texts.members.createLink}</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
