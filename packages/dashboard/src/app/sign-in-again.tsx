// Sign-in above the page that somebody is on. What they typed stays below it, and the call that was refused is repeated.
// Without a session there is no way back to the page but to sign in. Above a page that is covered nothing tells whose it is.

import { Stack, Text } from '@mantine/core'
import { useCallback, useEffect } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { SignInForm } from '../pages/ways-in/sign-in-form.tsx'
import { texts } from '../texts.ts'
import { sk } from './client.ts'
import { startAnew } from './known-user.ts'
import type { useMe } from './me.ts'
import { paths } from './paths.ts'
import { queryClient } from './query.ts'
import { type Gate, onNews } from './session.ts'

type Me = ReturnType<typeof useMe>['data']

export default function SignInAgain({ gate }: { gate: Gate }) {
  const known = queryClient.getQueryData<Me>(['me'])?.user
  // Nobody was signed in: there is no page to keep.
  return known ? <Overlay gate={gate} known={known} /> : <Leave />
}

function Overlay({ gate, known }: { gate: Gate; known: { id: string; email: string | null } }) {
  const enter = useCallback(
    (user: { id: string }) => {
      // Somebody else's page must not be shown, or sent, under this account.
      if (user.id !== known.id) startAnew()
      else gate.open()
    },
    [gate, known],
  )
  useEffect(
    () =>
      onNews((news) => {
        if (news.is !== 'signed in') return
        sk.user.read().then(
          ({ user }) => enter(user),
          () => {},
        )
      }),
    [enter],
  )
  const recent = gate.reason === 'recent'
  const covered = gate.reason === 'signed out'
  const close = () => {
    if (recent) gate.giveUp(new Error(texts.signIn.notConfirmed))
    else startAnew({ at: paths.signIn })
  }
  return (
    <Dialog
      opened
      above
      onClose={close}
      title={recent ? texts.signIn.recentTitle : texts.signIn.endedTitle}
      closeOnClickOutside={false}
      closeOnEscape={recent}
    >
      <Stack>
        <Text size="sm">{recent ? texts.signIn.recentHelp : texts.signIn.endedHelp}</Text>
        <SignInForm
          key={String(covered)}
          onSignedIn={enter}
          singleSignOn={{ returnTo: paths.signedIn, fresh: recent, inNewTab: true }}
          email={covered ? null : known.email}
        />
      </Stack>
    </Dialog>
  )
}

function Leave() {
  useEffect(() => {
    const { pathname, search } = location
    location.replace(pathname === '/' ? paths.signIn : paths.signInThen(pathname + search))
  }, [])
  return null
}
