// Confirms an e-mail address by the link that was sent to it: with a click, since mail programs open links by themselves.

import { isStorekeeperError } from '@storekeeper/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { sk } from '../../app/client.ts'
import { keepLinkToken, linkToken } from '../../app/link-token.ts'
import { paths } from '../../app/paths.ts'
import { userChanged } from '../../app/session.ts'
import { LightButton, Notice } from '../../components/light.tsx'
import { LightProblem } from '../../components/light-problem.tsx'
import { texts } from '../../texts.ts'
import { Narrow } from './narrow.tsx'
import { SignInForm } from './sign-in-form.tsx'

export default function ConfirmPage() {
  const [token] = useState(() => linkToken(paths.confirm))
  return (
    <Narrow title={texts.confirm.title}>
      {token ? <Confirm token={token} /> : <Notice tone="bad">{texts.confirm.incomplete}</Notice>}
    </Narrow>
  )
}

function Confirm({ token }: { token: string }) {
  const [state, setState] = useState<'asking' | 'sending' | 'sign-in' | 'useless' | 'done'>('asking')
  const [error, setError] = useState<unknown>(null)
  const confirm = async () => {
    setState('sending')
    setError(null)
    try {
      await sk.auth.confirm({ token })
      userChanged()
      setState('done')
    } catch (failure) {
      if (isStorekeeperError(failure, 'sign_in_required')) return setState('sign-in')
      if (isStorekeeperError(failure, 'confirmation_not_found')) return setState('useless')
      setError(failure)
      setState('asking')
    }
  }
  if (state === 'done')
    return (
      <>
        <Notice tone="good">{texts.confirm.done}</Notice>
        <Link className="light-button light-primary" href="/">
          {texts.confirm.goOn}
        </Link>
      </>
    )
  if (state === 'useless') return <Notice tone="bad">{texts.confirm.useless}</Notice>
  if (state === 'sign-in')
    return (
      <>
        <Notice tone="bad">{texts.confirm.signIn}</Notice>
        <SignInForm
          label={texts.confirm.signInAndConfirm}
          onSignedIn={() => void confirm()}
          singleSignOn={{ returnTo: paths.confirm, onLeave: keepLinkToken }}
        />
      </>
    )
  return (
    <>
      <p>{texts.confirm.ask}</p>
      {error !== null && <LightProblem error={error} />}
      <LightButton onClick={() => void confirm()} loading={state === 'sending'}>
        {texts.confirm.confirm}
      </LightButton>
    </>
  )
}
