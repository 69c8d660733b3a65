// Adding a customer. The same call would change one that exists, so that is looked at first.

import { Alert, Anchor, Button, Group, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { Dialog } from '../../components/dialog.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'

type Values = { externalId: string; name: string; email: string }

export function AddDialog({ storeId, onClose }: { storeId: string; onClose: () => void }) {
  const [, navigate] = useLocation()
  const { customers } = sk.store(storeId)
  const [existing, setExisting] = useState<string | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const form = useServiceForm<Values>({ initialValues: { externalId: '', name: '', email: '' } })
  const add = useWrite(
    async ({ externalId, name, email }: Values) => {
      const found = await customers.list({ q: externalId }).toArray({ max: 100 })
      const known = found.find((customer) => customer.externalId === externalId)
      if (known) return { known }
      return { added: await customers.put(externalId, { ...(name && { name }), ...(email && { email }) }) }
    },
    { changes: [['customers', storeId]] },
  )
  const send = async ({ externalId, name, email }: Values) => {
    setProblem(null)
    setExisting(null)
    const wanted = { externalId: externalId.trim(), name: name.trim(), email: email.trim() }
    try {
      const { known, added } = await add.mutateAsync(wanted)
      if (known) {
        setExisting(known.externalId)
        // Nothing is lost by going there instead.
        form.resetDirty()
      } else navigate(paths.customer(storeId, added.externalId))
    } catch (error) {
      if (!form.showFaults(error)) setProblem(error)
    }
  }
  return (
    <Dialog opened onClose={onClose} title={texts.customers.add} dirty={form.isDirty()}>
      <form onSubmit={form.onSubmit((values) => void send(values))}>
        <Stack>
          <TextInput
            required
            data-autofocus
            autoComplete="off"
            label={texts.customers.externalId}
            description={texts.customers.externalIdHelp}
            {...form.getInputProps('externalId')}
          />
          <TextInput label={texts.customers.name} autoComplete="off" {...form.getInputProps('name')} />
          <TextInput type="email" label={texts.customers.email} autoComplete="off" {...form.getInputProps('email')} />
          {existing !== null && (
            <Alert color="yellow" role="alert">
              {texts.customers.exists}{' '}
              <Anchor component={Link} href={paths.customer(storeId, existing)} inherit>
                {texts.customers.open}
              </Anchor>
            </Alert>
          )}
          {problem !== null && <Problem error={problem} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {texts.app.cancel}
            </Button>
            <Button type="submit" loading={add.isPending}>
              {texts.customers.addNow}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
