import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { isStorekeeperError } from '@storekeeper/client'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { sk, useRead } from '../../app/api.ts'
import { paths } from '../../app/paths.ts'
import { queryClient } from '../../app/query.ts'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { CookieRefused, Narrow } from './narrow.tsx'

type Values = { email: string; password: string; name: string }

export default function SignUpPage() {
  const [, navigate] = useLocation()
  const settings = useRead(['settings'], (options) => sk.settings.read(options)).data
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState(false)
  const form = useServiceForm<Values>({ initialValues: { email: '', password: '', name: '' } })
  const signUp = async ({ email, password, name }: Values) => {
    setBusy(true)
    setError(null)
    try {
      await sk.auth.signUp({ email, password, cookie: true, ...(name.trim() ? { name: name.trim() } : {}) })
      form.resetDirty()
      queryClient.removeQueries({ queryKey: ['me'] })
      await sk.user.read().then(
        () => navigate(paths.stores, { replace: true }),
        () => setRefused(true),
      )
    } catch (failure) {
      if (!form.showFaults(failure)) setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Narrow title={texts.signIn.signUp}>
      {refused && <CookieRefused />}
      {settings?.signUp === 'closed' ? (
        <Text>{texts.signIn.signUpClosed}</Text>
      ) : (
        <form onSubmit={form.onSubmit((values) => void signUp(values))}>
          <Stack>
            <TextInput
              required
              type="email"
              autoComplete="username"
              maxLength={254}
              label={texts.signIn.email}
              {...form.getInputProps('email')}
            />
            <PasswordInput
              required
              autoComplete="new-password"
              minLength={15}
              maxLength={256}
              label={texts.signIn.password}
              description={texts.signIn.passwordHelp}
              visibilityToggleButtonProps={{ 'aria-label': texts.signIn.showPassword }}
              {...form.getInputProps('password')}
            />
            <TextInput autoComplete="name" maxLength={100} label={texts.signIn.name} {...form.getInputProps('name')} />
            {error !== null && <Problem error={error} />}
            {isStorekeeperError(error, 'email_taken') && (
              <Anchor component={Link} href={paths.signIn}>
                {texts.signIn.signIn}
              </Anchor>
            )}
            <Button type="submit" loading={busy}>
              {texts.signIn.signUp}
            </Button>
          </Stack>
        </form>
      )}
      <Text size="sm">
        {texts.signIn.haveAccount}{' '}
        <Anchor component={Link} href={paths.signIn}>
          {texts.signIn.signIn}
        </Anchor>
      </Text>
    </Narrow>
  )
}
