// Sign-in above the page that somebody is on. What they typed stays below it, and the call that was refused is repeated.
// Above a page that is covered there is no way back to it but to sign in.

import { Stack, Text } from '@mantine/core'
import { useCallback, useEffect } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { SignInForm } from '../pages/ways-in/sign-in-form.tsx'
import { texts } from '../texts.ts'
import { sk } from './client.ts'
import { isCovered } from './cover.ts'
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
  const close = () => {
    if (isCovered()) startAnew({ at: paths.signIn })
    else gate.giveUp(new Error(recent ? texts.signIn.notConfirmed : texts.signIn.givenUp))
  }
  return (
    <Dialog
      opened
      above
      onClose={close}
      title={recent ? texts.signIn.recentTitle : texts.signIn.endedTitle}
      closeOnClickOutside={false}
    >
      <Stack>
        <Text size="sm">{recent ? texts.signIn.recentHelp : texts.signIn.endedHelp}</Text>
        <SignInForm
          onSignedIn={enter}
          singleSignOn={{ returnTo: paths.signedIn, fresh: recent, inNewTab: true }}
          email={known.email}
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
