// A new account, on the page of its own or with an invitation.

import type { GetInputPropsReturnType } from '@mantine/form'
import { isStorekeeperError } from '@storekeeper/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { useServiceForm } from '../../components/form.ts'
import { Field, LightButton, SecretField } from '../../components/light.tsx'
import { LightProblem } from '../../components/light-problem.tsx'
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
    <form className="light-form" onSubmit={form.onSubmit((values) => void signUp(values))}>
      <Field
        required
        type="email"
        autoComplete="username"
        maxLength={254}
        label={texts.signIn.email}
        ref={focusOnMount}
        {...form.getInputProps('email')}
      />
      <NewPassword label={texts.signIn.password} {...form.getInputProps('password')} />
      <Field
        autoComplete="name"
        maxLength={100}
        label={texts.signIn.name}
        description={texts.signIn.nameHelp}
        {...form.getInputProps('name')}
      />
      {error !== null && <LightProblem error={error} />}
      {isStorekeeperError(error, 'email_taken') && !invitation && (
        <Link href={paths.signIn}>{texts.signIn.signIn}</Link>
      )}
      <LightButton type="submit" loading={busy}>
        {invitation ? texts.invitation.signUp : texts.signIn.signUp}
      </LightButton>
    </form>
  )
}

/** For a password that is being chosen: the hint stays while one types. */
export function NewPassword({ label, ...field }: { label: string } & GetInputPropsReturnType) {
  return (
    <SecretField
      required
      autoComplete="new-password"
      minLength={15}
      maxLength={256}
      label={label}
      toggle={texts.signIn.showPassword}
      description={texts.signIn.passwordHelp}
      {...field}
    />
  )
}
