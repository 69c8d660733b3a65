// The password, and the second factors.

import { Alert, Badge, Button, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { isStorekeeperError, type NewTotp, type User } from '@storekeeper/client'
import { useState } from 'react'
import { useWrite } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { DangerActions } from '../../components/danger-actions.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { Section } from '../../components/section.tsx'
import { texts } from '../../texts.ts'
import { Passkeys } from './passkeys.tsx'
import { CurrentPassword, Saved } from './profile.tsx'
import { RecoveryCodesDialog } from './recovery-codes.tsx'
import { useSessions } from './sessions.tsx'
import { TotpDialog } from './totp-dialog.tsx'

export default function Security({ user }: { user: User }) {
  const isFederated = useSessions().data?.some(({ current, method }) => current && method === 'oidc')
  return (
    <>
      {isFederated && <Alert>{texts.account.federated}</Alert>}
      <Password user={user} />
      <AuthenticatorApp user={user} />
      <Passkeys />
      {hasFactor(user) && <RecoveryCodes user={user} />}
    </>
  )
}

const hasFactor = ({ secondFactor: { totp, passkeys } }: User) => totp || passkeys > 0

type PasswordValues = { currentPassword: string; newPassword: string }
const NO_PASSWORDS: PasswordValues = { currentPassword: '', newPassword: '' }

function Password({ user }: { user: User }) {
  const form = useServiceForm<PasswordValues>({ initialValues: NO_PASSWORDS })
  const save = useWrite((values: PasswordValues, options) => sk.user.changePassword(values, options), {
    changes: [['sessions'], ['me']],
  })
  const submit = async (values: PasswordValues) => {
    try {
      await save.mutateAsync(values)
      form.reset()
    } catch (error) {
      form.showFaults(error)
      if (isStorekeeperError(error, 'invalid_credentials'))
        form.setFieldError('currentPassword', texts.account.wrongPassword)
    }
  }
  return (
    <Section title={texts.signIn.password} help={texts.account.passwordHelp}>
      <form onSubmit={form.onSubmit((values) => void submit(values))}>
        <Stack maw={400}>
          {/* So that a password manager knows which account the new password is of. */}
          <input hidden readOnly autoComplete="username" value={user.email ?? ''} />
          <CurrentPassword {...form.getInputProps('currentPassword')} />
          <PasswordInput
            required
            autoComplete="new-password"
            minLength={15}
            maxLength={256}
            label={texts.reset.newPassword}
            description={texts.signIn.passwordHelp}
            visibilityToggleButtonProps={{ 'aria-label': texts.signIn.showPassword }}
            {...form.getInputProps('newPassword')}
          />
          {save.error && Object.keys(form.errors).length === 0 && <Problem error={save.error} />}
          <Group>
            <Button type="submit" disabled={!form.isDirty()} loading={save.isPending}>
              {texts.account.changePassword}
            </Button>
            {save.isSuccess && !form.isDirty() && <Saved>{texts.account.passwordChanged}</Saved>}
          </Group>
        </Stack>
      </form>
    </Section>
  )
}

const FACTOR_CHANGES = { changes: [['me'], ['passkeys'], ['sessions']] }

function AuthenticatorApp({ user }: { user: User }) {
  const { totp } = user.secondFactor
  const [made, setMade] = useState<NewTotp | null>(null)
  const start = useWrite((_: null, options) => sk.totp.create(options))
  return (
    <Section title={texts.account.app} help={texts.account.appHelp}>
      <Group>
        <Badge variant="light" color={totp ? 'green' : 'gray'}>
          {totp ? texts.account.on : texts.account.off}
        </Badge>
      </Group>
      <Group>
        <Button
          variant={totp ? 'default' : 'filled'}
          loading={start.isPending}
          onClick={() => start.mutate(null, { onSuccess: setMade })}
        >
          {totp ? texts.account.replaceApp : texts.account.setUpApp}
        </Button>
        {totp && <RemoveApp isLast={user.secondFactor.passkeys === 0} />}
      </Group>
      {start.error && <Problem error={start.error} />}
      {made && <TotpDialog made={made} onClose={() => setMade(null)} />}
    </Section>
  )
}

function RemoveApp({ isLast }: { isLast: boolean }) {
  const [asking, setAsking] = useState(false)
  const remove = useWrite(() => sk.totp.delete(), FACTOR_CHANGES)
  return (
    <>
      <Button variant="outline" color="red" onClick={() => setAsking(true)}>
        {texts.account.removeApp}
      </Button>
      <Dialog opened={asking} onClose={() => setAsking(false)} title={texts.account.removeApp}>
        <Stack>
          <Text size="sm">{isLast ? texts.account.removeLastHelp : texts.account.removeAppHelp}</Text>
          <DangerActions
            write={remove}
            label={texts.account.removeApp}
            onCancel={() => setAsking(false)}
            onConfirm={() => remove.mutate(undefined, { onSuccess: () => setAsking(false) })}
          />
        </Stack>
      </Dialog>
    </>
  )
}

function RecoveryCodes({ user }: { user: User }) {
  const [codes, setCodes] = useState<string[] | null>(null)
  const replace = useWrite((_: null, options) => sk.recoveryCodes.replace(options), { changes: [['me']] })
  return (
    <Section title={texts.account.recoveryCodes} help={texts.account.recoveryCodesHelp}>
      <Text size="sm">{texts.account.codesLeft(user.secondFactor.recoveryCodesLeft)}</Text>
      <Group>
        <Button
          variant="default"
          loading={replace.isPending}
          onClick={() => replace.mutate(null, { onSuccess: ({ recoveryCodes }) => setCodes(recoveryCodes) })}
        >
          {texts.account.newCodes}
        </Button>
      </Group>
      {replace.error && <Problem error={replace.error} />}
      {codes && <RecoveryCodesDialog codes={codes} onDone={() => setCodes(null)} />}
    </Section>
  )
}
