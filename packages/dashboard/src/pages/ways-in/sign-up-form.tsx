// A new account, on the page of its own or with an invitation.

import { Anchor, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import { isStorekeeperError } from '@storekeeper/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { useServiceForm } from '../../components/form.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { focusOnMount } from './focus.ts'

type Values = { email: string; password: string; name: string }
type Props = { onSignedUp: () => void | Promise<void>; invitation?: string }

export function SignUpForm({ onSignedUp, invitation }: Props) {
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const form = useServiceForm<Values>({ initialValues: { email: '', password: '', name: '' } })
  const signUp = async ({ email, password, name }: Values) => {
    setBusy(true)
    setError(null)
    try {
      await sk.auth.signUp({
        email,
        password,
        cookie: true,
        ...(name.trim() ? { name: name.trim() } : {}),
        ...(invitation ? { invitation } : {}),
      })
      form.resetDirty()
      await onSignedUp()
    } catch (failure) {
      if (!form.showFaults(failure)) setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={form.onSubmit((values) => void signUp(values))}>
      <Stack>
        <TextInput
          required
          type="email"
          autoComplete="username"
          maxLength={254}
          label={texts.signIn.email}
          ref={focusOnMount}
          {...form.getInputProps('email')}
        />
        <NewPassword label={texts.signIn.password} {...form.getInputProps('password')} />
        <TextInput autoComplete="name" maxLength={100} label={texts.signIn.name} {...form.getInputProps('name')} />
        {error !== null && <Problem error={error} />}
        {isStorekeeperError(error, 'email_taken') && !invitation && (
          <Anchor component={Link} href={paths.signIn}>
            {texts.signIn.signIn}
          </Anchor>
        )}
        <Button type="submit" loading={busy}>
          {invitation ? texts.invitation.signUp : texts.signIn.signUp}
        </Button>
      </Stack>
    </form>
  )
}

/** For a password that is being chosen: the hint stays while one types. */
export function NewPassword({ label, ...field }: { label: string } & GetInputPropsReturnType) {
  return (
    <PasswordInput
      required
      autoComplete="new-password"
      minLength={15}
      maxLength={256}
      label={label}
      description={texts.signIn.passwordHelp}
      visibilityToggleButtonProps={{ 'aria-label': texts.signIn.showPassword }}
      {...field}
    />
  )
}
