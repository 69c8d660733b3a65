import { Anchor, Text } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { sk, useRead } from '../../app/api.ts'
import { paths } from '../../app/paths.ts'
import { queryClient } from '../../app/query.ts'
import { texts } from '../../texts.ts'
import { CookieRefused, Narrow } from './narrow.tsx'
import { SignInForm } from './sign-in-form.tsx'

export default function SignInPage() {
  const [, navigate] = useLocation()
  const [refused, setRefused] = useState(false)
  const settings = useRead(['settings'], (options) => sk.settings.read(options)).data
  const enter = async () => {
    queryClient.removeQueries({ queryKey: ['me'] })
    // A browser drops a secure cookie on plain HTTP without a word: then nobody is signed in.
    const kept = await sk.user.read().then(
      () => true,
      () => false,
    )
    if (kept) navigate('/', { replace: true })
    else setRefused(true)
  }
  return (
    <Narrow title={texts.signIn.title}>
      {refused && <CookieRefused />}
      <SignInForm onSignedIn={enter} returnTo={paths.stores} />
      {settings?.signUp === 'open' && (
        <Text size="sm">
          {texts.signIn.newHere}{' '}
          <Anchor component={Link} href={paths.signUp}>
            {texts.signIn.signUp}
          </Anchor>
        </Text>
      )}
    </Narrow>
  )
}
