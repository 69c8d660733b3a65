// Somebody signs in or out in another tab, and the page of this one notices without being touched.

import { useEffect } from 'react'
import { sk, withSession } from './client.ts'
import { knownUser, startAnew } from './known-user.ts'
import { paths } from './paths.ts'
import { onNews, signInAgain } from './session.ts'
import { hasTyped, isSecretShown } from './unsaved.ts'

export function useOtherTabs(): void {
  useEffect(() => {
    const stop = onNews((news) => {
      if (news.is === 'signed out') leave()
      else if (news.is !== 'known' || news.userId !== knownUser()) ask()
    })
    // Brought back as it was, by the way back: what other tabs said meanwhile was not heard.
    const onShow = ({ persisted }: PageTransitionEvent) => persisted && ask()
    addEventListener('pageshow', onShow)
    return () => {
      stop()
      removeEventListener('pageshow', onShow)
    }
  }, [])
}

/** If it is another user, the page is loaded again (known-user.ts); if nobody, it asks for a sign-in and keeps what was typed. */
function ask(): void {
  if (knownUser() === null) return
  withSession(() => sk.user.read()).catch(() => {
    // Nobody signed in again, or there was no answer: the next call finds out.
  })
}

/** What was typed waits for the same person, out of sight. A secret does not wait, nor does a page with nothing to lose. */
function leave(): void {
  if (knownUser() === null) return
  if (isSecretShown() || !hasTyped()) return startAnew({ at: paths.signInThen(location.pathname + location.search) })
  signInAgain('signed out').catch(() => {
    // They did not come back: the page is being left.
  })
}
