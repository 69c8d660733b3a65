// Somebody has found a key. They need no account: the key itself is what they have.

import { Alert, Button, PasswordInput, Stack, Text } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { sk } from '../app/client.ts'
import { Problem } from '../components/problem.tsx'
import { texts } from '../texts.ts'
import { Narrow } from './ways-in/narrow.tsx'

export default function FoundKeyPage() {
  const [key, setKey] = useState('')
  const [state, setState] = useState<'asking' | 'sending' | 'done'>('asking')
  const [error, setError] = useState<unknown>(null)
  const report = async (event: FormEvent) => {
    event.preventDefault()
    setState('sending')
    setError(null)
    try {
      await sk.leaks.report({ key: key.trim() })
      setKey('')
      setState('done')
    } catch (failure) {
      setError(failure)
      setState('asking')
    }
  }
  return (
    <Narrow title={texts.foundKey.title}>
      <Text size="sm">{texts.foundKey.about}</Text>
      {state === 'done' ? (
        <Alert color="green" role="status">
          {texts.foundKey.done}
        </Alert>
      ) : (
        <form onSubmit={report}>
          <Stack>
            <PasswordInput
              required
              autoComplete="off"
              label={texts.foundKey.key}
              value={key}
              onChange={(event) => setKey(event.currentTarget.value)}
              visibilityToggleButtonProps={{ 'aria-label': texts.foundKey.show }}
            />
            {error !== null && <Problem error={error} />}
            <Button type="submit" loading={state === 'sending'}>
              {texts.foundKey.report}
            </Button>
          </Stack>
        </form>
      )}
    </Narrow>
  )
}
