import { useEffect, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useSettings } from '../../app/client.ts'
import { recentStores } from '../../app/last-store.ts'
import { ownPath, paths } from '../../app/paths.ts'
import { texts } from '../../texts.ts'
import { CookieRefused, Narrow } from './narrow.tsx'
import { readSession } from './session-kept.ts'
import { SignInForm } from './sign-in-form.tsx'

export default function SignInPage() {
  const [, navigate] = useLocation()
  const returnTo = ownPath(new URLSearchParams(useSearch()).get('returnTo')) ?? '/'
  const [refused, setRefused] = useState(false)
  const settings = useSettings()
  const enter = async () => {
    if (await readSession()) navigate(returnTo, { replace: true })
    else setRefused(true)
  }
  useEffect(() => {
    // This browser has opened a store and has not signed out, so it may still be signed in.
    if (recentStores().length > 0) void readSession().then((me) => me && navigate(returnTo, { replace: true }))
  }, [navigate, returnTo])
  return (
    <Narrow title={texts.signIn.title}>
      {refused && <CookieRefused />}
      <SignInForm onSignedIn={() => void enter()} singleSignOn={{ returnTo }} />
      {settings?.signUp === 'open' && (
        <p className="light-small">
          {texts.signIn.newHere} <Link href={paths.signUp}>{texts.signIn.signUp}</Link>
        </p>
      )}
    </Narrow>
  )
}
