// A new account, on the page of its own or with an invitation.

import { isStorekeeperError } from '@storekeeper/client'
import type { FormEvent } from 'react'
import { Link } from 'wouter'
import { sk } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { announce } from '../../app/session.ts'
import { focusOnMount } from '../../components/focus.ts'
import { Field, LightButton, SecretField } from '../../components/light.tsx'
import { LightProblem } from '../../components/light-problem.tsx'
import { texts } from '../../texts.ts'
import { type LightField, useLightForm } from './light-form.ts'

type Props = { onSignedUp: (user: { id: string }) => void | Promise<void>; invitation?: string }

export function SignUpForm({ onSignedUp, invitation }: Props) {
  const { error, busy, field, submit } = useLightForm({ email: '', password: '', name: '' })
  const signUp = (event: FormEvent) => {
    event.preventDefault()
    void submit(async ({ email, password, name }) => {
      const { user } = await sk.auth.signUp({
        email,
        password,
        cookie: true,
        ...(name.trim() ? { name: name.trim() } : {}),
        ...(invitation ? { invitation } : {}),
      })
      announce({ is: 'signed in' })
      await onSignedUp(user)
    })
  }
  return (
    <form className="light-form" onSubmit={signUp}>
      <Field
        required
        type="email"
        autoComplete="username"
        maxLength={254}
        label={texts.signIn.email}
        ref={focusOnMount}
        {...field('email')}
      />
      <NewPassword label={texts.signIn.password} {...field('password')} />
      <Field autoComplete="name" label={texts.signIn.name} description={texts.signIn.nameHelp} {...field('name')} />
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
export function NewPassword({ label, ...field }: { label: string } & LightField) {
  return (
    <SecretField
      required
      autoComplete="new-password"
      minLength={15}
      label={label}
      toggle={texts.signIn.showPassword}
      description={texts.signIn.passwordHelp}
      {...field}
    />
  )
}
