// Setting up an authenticator app: the secret as a picture and as text, a code from the app to show that it works, and then
// the recovery codes.

import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import type { NewTotp } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { queryClient } from '../../app/query.ts'
import { useShownSecret } from '../../app/unsaved.ts'
import { Copy } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { QrCode } from './qr-code.tsx'
import { RecoveryCodesDialog } from './recovery-codes.tsx'

export function TotpDialog({ made, onClose }: { made: NewTotp; onClose: () => void }) {
  const [confirmed, setConfirmed] = useState(false)
  if (confirmed)
    return (
      <RecoveryCodesDialog
        codes={made.recoveryCodes}
        onDone={() => {
          onClose()
          for (const queryKey of [['me'], ['sessions']]) void queryClient.invalidateQueries({ queryKey })
        }}
      />
    )
  return <Scan made={made} onClose={onClose} onConfirmed={() => setConfirmed(true)} />
}

function Scan({ made, onClose, onConfirmed }: { made: NewTotp; onClose: () => void; onConfirmed: () => void }) {
  useShownSecret()
  const form = useServiceForm({ initialValues: { code: '' } })
  const confirm = useWrite(({ code }: { code: string }, options) => sk.totp.confirm({ code }, options))
  const submit = async ({ code }: { code: string }) => {
    try {
      await confirm.mutateAsync({ code: code.replaceAll(/\s/g, '') })
      form.resetDirty()
      onConfirmed()
    } catch (error) {
      form.showFaults(error)
    }
  }
  return (
    <Dialog opened onClose={onClose} title={texts.account.setUpApp} closeOnClickOutside={false}>
      <form onSubmit={form.onSubmit((values) => void submit(values))}>
        <Stack>
          <Text size="sm">{texts.account.scan}</Text>
          <Group justify="center">
            <QrCode text={made.uri} label={texts.account.qrCode} />
          </Group>
          <Anchor href={made.uri} size="sm" hiddenFrom="sm">
            {texts.account.openApp}
          </Anchor>
          <Stack gap={4}>
            <Text size="sm">{texts.account.orType}</Text>
            <Group gap="xs">
              <Text className="secret" size="sm" data-testid="totp-secret">
                {made.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}
              </Text>
              <Copy text={made.secret} />
            </Group>
          </Stack>
          <TextInput
            required
            data-autofocus
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={20}
            label={texts.account.appCode}
            description={texts.account.appCodeHelp}
            {...form.getInputProps('code')}
          />
          {confirm.error && form.errors.code === undefined && <Problem error={confirm.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {texts.app.cancel}
            </Button>
            <Button type="submit" loading={confirm.isPending}>
              {texts.account.confirmApp}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
