// Somebody signs in in another tab, and the page of this one notices without being touched. That somebody signs out is heard
// before there is a page (known-user.ts).

import { useEffect } from 'react'
import { sk, withSession } from './client.ts'
import { knownUser } from './known-user.ts'
import { onNews } from './session.ts'

export function useOtherTabs(): void {
  useEffect(() => {
    const stop = onNews((news) => {
      if (news.is === 'signed in' || (news.is === 'known' && news.userId !== knownUser())) ask()
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
