// Confirms an e-mail address by the link that was sent to it: with a click, since mail programs open links by themselves.

import { Alert, Button, Text } from '@mantine/core'
import { isStorekeeperError } from '@storekeeper/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { sk } from '../../app/client.ts'
import { keepLinkToken, linkToken } from '../../app/link-token.ts'
import { paths } from '../../app/paths.ts'
import { userChanged } from '../../app/session.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { Narrow } from './narrow.tsx'
import { SignInForm } from './sign-in-form.tsx'

export default function ConfirmPage() {
  const [token] = useState(() => linkToken(paths.confirm))
  return (
    <Narrow title={texts.confirm.title}>
      {token ? (
        <Confirm token={token} />
      ) : (
        <Alert color="red" role="alert">
          {texts.confirm.incomplete}
        </Alert>
      )}
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
        <Alert color="green" role="status">
          {texts.confirm.done}
        </Alert>
        <Button component={Link} href="/">
          {texts.confirm.goOn}
        </Button>
      </>
    )
  if (state === 'useless')
    return (
      <Alert color="red" role="alert">
        {texts.confirm.useless}
      </Alert>
    )
  if (state === 'sign-in')
    return (
      <>
        <Alert color="yellow" role="alert">
          {texts.confirm.signIn}
        </Alert>
        <SignInForm
          label={texts.confirm.signInAndConfirm}
          onSignedIn={() => void confirm()}
          singleSignOn={{ returnTo: paths.confirm, onLeave: keepLinkToken }}
        />
      </>
    )
  return (
    <>
      <Text>{texts.confirm.ask}</Text>
      {error !== null && <Problem error={error} />}
      <Button onClick={() => void confirm()} loading={state === 'sending'}>
        {texts.confirm.confirm}
      </Button>
    </>
  )
}
