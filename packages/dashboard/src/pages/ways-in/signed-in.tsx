// Where the identity provider leads back to, in a tab of its own: the tab that waits for the sign-in goes on by itself.

import { useEffect } from 'react'
import { announce } from '../../app/session.ts'
import { texts } from '../../texts.ts'
import { Narrow } from './narrow.tsx'

export default function SignedInPage() {
  useEffect(() => {
    announce({ is: 'signed in' })
    // Browsers close only tabs that a script has opened; the text says what to do in the others.
    window.close()
  }, [])
  return (
    <Narrow title={texts.signIn.signedIn}>
      <p>{texts.signIn.signedInHelp}</p>
    </Narrow>
  )
}
