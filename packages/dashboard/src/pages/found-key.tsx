// Somebody has found a key. They need no account: the key itself is what they have.

import { type FormEvent, useState } from 'react'
import { sk } from '../app/client.ts'
import { LightButton, Notice, SecretField } from '../components/light.tsx'
import { LightProblem } from '../components/light-problem.tsx'
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
      <p className="light-small">{texts.foundKey.about}</p>
      {state === 'done' ? (
        <Notice tone="good">{texts.foundKey.done}</Notice>
      ) : (
        <form className="light-form" onSubmit={report}>
          <SecretField
            required
            autoComplete="off"
            label={texts.foundKey.key}
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
            toggle={texts.foundKey.show}
          />
          {error !== null && <LightProblem error={error} />}
          <LightButton type="submit" loading={state === 'sending'}>
            {texts.foundKey.report}
          </LightButton>
        </form>
      )}
    </Narrow>
  )
}
