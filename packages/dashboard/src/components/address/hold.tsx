// Putting a version of an address on hold for an invoice, and ending that.

import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import type { AddressVersion } from '@storekeeper/client'
import { Lock, LockOpen } from 'lucide-react'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { texts } from '../../texts.ts'
import { AllowedButton } from '../allowed.tsx'
import { DangerActions } from '../danger-actions.tsx'
import { Dialog } from '../dialog.tsx'
import { useServiceForm } from '../form.ts'
import { Problem } from '../problem.tsx'

type Props = { storeId: string; version: AddressVersion }

/** How long books are kept, here and there. */
const YEARS = [3, 6, 10, 14]

export function HoldButton({ storeId, version }: Props) {
  const [asking, setAsking] = useState<'hold' | 'release' | null>(null)
  // Nothing is left of it that could be kept.
  if (version.address.erased && !version.hold) return null
  const close = () => setAsking(null)
  return (
    <>
      <AllowedButton
        storeId={storeId}
        permission="MANAGE_ORDERS"
        size="xs"
        variant="default"
        leftSection={version.hold ? <LockOpen size={14} aria-hidden /> : <Lock size={14} aria-hidden />}
        onClick={() => setAsking(version.hold ? 'release' : 'hold')}
      >
        {version.hold ? texts.holds.release : texts.holds.hold}
      </AllowedButton>
      {asking === 'hold' && <HoldDialog storeId={storeId} version={version} onClose={close} />}
      {asking === 'release' && <ReleaseDialog storeId={storeId} version={version} onClose={close} />}
    </>
  )
}

const changes = (storeId: string) => ({
  changes: [
    ['invoicing', storeId],
    ['addresses', storeId],
  ],
})

/** The day so many years from now, as a date field has it, in the reader's own time zone. */
function dayInYears(years: number): string {
  const now = new Date()
  const at = new Date(now.getFullYear() + years, now.getMonth(), now.getDate(), 12)
  return at.toISOString().slice(0, 10)
}

function HoldDialog({ storeId, version: { version, address }, onClose }: Props & { onClose: () => void }) {
  const form = useServiceForm({ initialValues: { reason: '', until: dayInYears(10) } })
  const [problem, setProblem] = useState<unknown>(null)
  const hold = useWrite(
    (input: { reason: string; until: string }, options) =>
      sk.store(storeId).invoicing.hold(address.id, version, input, options),
    changes(storeId),
  )
  const send = async ({ reason, until }: { reason: string; until: string }) => {
    setProblem(null)
    try {
      await hold.mutateAsync({ reason, until: until ? new Date(`${until}T23:59:59`).toISOString() : '' })
      onClose()
    } catch (error) {
      if (!form.showFaults(error)) setProblem(error)
    }
  }
  return (
    <Dialog opened onClose={onClose} title={texts.holds.title(version)} dirty={form.isDirty()}>
      <form noValidate onSubmit={form.onSubmit((values) => void send(values))}>
        <Stack>
          <Text size="sm">{texts.holds.help}</Text>
          <TextInput
            withAsterisk
            data-autofocus
            label={texts.holds.reason}
            description={texts.holds.reasonHelp}
            {...form.getInputProps('reason')}
          />
          <div>
            <TextInput withAsterisk type="date" label={texts.holds.until} {...form.getInputProps('until')} />
            <Group gap="xs" mt="xs">
              {YEARS.map((years) => (
                <Button
                  key={years}
                  size="compact-sm"
                  variant="default"
                  onClick={() => form.setFieldValue('until', dayInYears(years))}
                >
                  {texts.holds.years(years)}
                </Button>
              ))}
            </Group>
          </div>
          {problem !== null && <Problem error={problem} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {texts.app.cancel}
            </Button>
            <Button type="submit" loading={hold.isPending}>
              {texts.holds.hold}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function ReleaseDialog({ storeId, version: { version, address }, onClose }: Props & { onClose: () => void }) {
  const release = useWrite(() => sk.store(storeId).invoicing.release(address.id, version), changes(storeId))
  return (
    <Dialog opened onClose={onClose} title={texts.holds.releaseAsk(version)}>
      <Stack>
        <Text size="sm">{texts.holds.releaseHelp}</Text>
        <DangerActions
          write={release}
          label={texts.holds.release}
          onCancel={onClose}
          onConfirm={() => release.mutate(undefined, { onSuccess: onClose })}
        />
      </Stack>
    </Dialog>
  )
}
