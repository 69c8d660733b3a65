import { useEffect, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useSettings } from '../../app/client.ts'
import { isOthersPage, startAnew } from '../../app/known-user.ts'
import { recentStores } from '../../app/last-store.ts'
import { ownPath, paths } from '../../app/paths.ts'
import { onNews } from '../../app/session.ts'
import { texts } from '../../texts.ts'
import { CookieRefused, Narrow } from './narrow.tsx'
import { readSession } from './session-kept.ts'
import { SignInForm } from './sign-in-form.tsx'

export default function SignInPage() {
  const [, navigate] = useLocation()
  const wanted = ownPath(new URLSearchParams(useSearch()).get('returnTo'))
  const returnTo = wanted ?? '/'
  const [refused, setRefused] = useState(false)
  const settings = useSettings()
  const enter = async () => {
    if (await readSession()) navigate(returnTo, { replace: true })
    else setRefused(true)
  }
  useEffect(() => {
    const goOn = () => void readSession().then((me) => me && navigate(returnTo, { replace: true }))
    const stop = onNews(({ is }) => is !== 'signed out' && goOn())
    // This browser has opened a store and has not signed out, or a page has led here: somebody may be signed in by now.
    if (recentStores().length > 0 || wanted !== null) goOn()
    return stop
  }, [navigate, returnTo, wanted])
  return (
    <Narrow title={texts.signIn.title}>
      {refused && <CookieRefused />}
      <SignInForm
        onSignedIn={(user) => (isOthersPage(user.id) ? startAnew({ at: returnTo }) : void enter())}
        singleSignOn={{ returnTo }}
      />
      {settings?.signUp === 'open' && (
        <p className="light-small">
          {texts.signIn.newHere} <Link href={paths.signUp}>{texts.signIn.signUp}</Link>
        </p>
      )}
    </Narrow>
  )
}
