import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useSettings } from '../../app/client.ts'
import { isOthersPage, startAnew } from '../../app/known-user.ts'
import { paths } from '../../app/paths.ts'
import { texts } from '../../texts.ts'
import { CookieRefused, Narrow } from './narrow.tsx'
import { readSession } from './session-kept.ts'
import { SignUpForm } from './sign-up-form.tsx'

export default function SignUpPage() {
  const [, navigate] = useLocation()
  const settings = useSettings()
  const [refused, setRefused] = useState(false)
  const enter = async () => {
    if (await readSession()) navigate(paths.stores, { replace: true })
    else setRefused(true)
  }
  return (
    <Narrow title={texts.signIn.signUp}>
      {refused && <CookieRefused />}
      {settings?.signUp === 'closed' ? (
        <p>{texts.signIn.signUpClosed}</p>
      ) : (
        <SignUpForm onSignedUp={(user) => (isOthersPage(user.id) ? startAnew({ at: paths.stores }) : enter())} />
      )}
      <p className="light-small">
        {texts.signIn.haveAccount} <Link href={paths.signIn}>{texts.signIn.signIn}</Link>
      </p>
    </Narrow>
  )
}
