// Sign-in above the page that somebody is on. What they typed stays below it, and the call that was refused is repeated.

import { Stack, Text } from '@mantine/core'
import { Dialog } from '../components/dialog.tsx'
import { SignInForm } from '../pages/ways-in/sign-in-form.tsx'
import { texts } from '../texts.ts'
import type { useMe } from './me.ts'
import { queryClient } from './query.ts'
import type { Gate } from './session.ts'

type Me = ReturnType<typeof useMe>['data']

export default function SignInAgain({ gate }: { gate: Gate }) {
  const known = queryClient.getQueryData<Me>(['me'])?.user
  // Nobody was signed in: there is no page to keep.
  if (!known) return <Leave />
  const enter = (user: { id: string }) => {
    // Somebody else's page must not be shown, or sent, under this account.
    if (user.id !== known?.id) return location.reload()
    gate.open()
  }
  return (
    <Dialog
      opened
      onClose={() => gate.giveUp(new Error(texts.signIn.givenUp))}
      title={gate.reason === 'recent' ? texts.signIn.recentTitle : texts.signIn.endedTitle}
      closeOnClickOutside={false}
    >
      <Stack>
        <Text size="sm">{gate.reason === 'recent' ? texts.signIn.recentHelp : texts.signIn.endedHelp}</Text>
        <SignInForm onSignedIn={enter} returnTo={location.pathname} email={known?.email ?? null} />
      </Stack>
    </Dialog>
  )
}

function Leave() {
  location.replace('/sign-in')
  return null
}
