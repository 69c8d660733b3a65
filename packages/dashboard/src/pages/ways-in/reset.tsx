// A forgotten password: asking for a link, and setting a new password with it.

import { isStorekeeperError } from '@storekeeper/client'
import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { sk, useSettings } from '../../app/client.ts'
import { linkToken } from '../../app/link-token.ts'
import { paths } from '../../app/paths.ts'
import { focusOnMount } from '../../components/focus.ts'
import { Field, LightButton, Notice } from '../../components/light.tsx'
import { LightProblem } from '../../components/light-problem.tsx'
import { texts } from '../../texts.ts'
import { useLightForm } from './light-form.ts'
import { Narrow } from './narrow.tsx'
import { NewPassword } from './sign-up-form.tsx'

export default function ResetPage() {
  const [token] = useState(() => linkToken(paths.reset))
  const [state, setState] = useState<'set' | 'ask' | 'useless' | 'done'>(token ? 'set' : 'ask')
  return (
    <Narrow title={texts.reset.title}>
      {state === 'useless' && <Notice tone="bad">{texts.reset.useless}</Notice>}
      {state === 'set' && token && (
        <SetPassword token={token} onDone={() => setState('done')} onUseless={() => setState('useless')} />
      )}
      {(state === 'ask' || state === 'useless') && <AskForLink />}
      {state === 'done' && (
        <>
          <Notice tone="good">{texts.reset.done}</Notice>
          <Link className="light-button light-primary" href={paths.signIn}>
            {texts.signIn.signIn}
          </Link>
        </>
      )}
      {state !== 'done' && (
        <Link className="light-small" href={paths.signIn}>
          {texts.reset.back}
        </Link>
      )}
    </Narrow>
  )
}

type SetProps = { token: string; onDone: () => void; onUseless: () => void }

function SetPassword({ token, onDone, onUseless }: SetProps) {
  const { error, busy, field, submit } = useLightForm({ newPassword: '' })
  const save = (event: FormEvent) => {
    event.preventDefault()
    void submit(async ({ newPassword }) => {
      try {
        await sk.auth.reset({ token, newPassword })
        onDone()
      } catch (failure) {
        if (!isStorekeeperError(failure, 'reset_not_found')) throw failure
        onUseless()
      }
    })
  }
  return (
    <form className="light-form" onSubmit={save}>
      <NewPassword label={texts.reset.newPassword} {...field('newPassword')} />
      {error !== null && <LightProblem error={error} />}
      <LightButton type="submit" loading={busy}>
        {texts.reset.set}
      </LightButton>
    </form>
  )
}

function AskForLink() {
  const settings = useSettings()
  const [email, setEmail] = useState('')
  const [state, setState] = useState<'asking' | 'sending' | 'sent'>('asking')
  const [error, setError] = useState<unknown>(null)
  const ask = async (event: FormEvent) => {
    event.preventDefault()
    setState('sending')
    setError(null)
    try {
      await sk.auth.requestReset({ email })
      setState('sent')
    } catch (failure) {
      setError(failure)
      setState('asking')
    }
  }
  if (settings?.mail === false) return <p>{texts.reset.noMail}</p>
  if (state === 'sent') return <Notice tone="good">{texts.reset.sent}</Notice>
  return (
    <form className="light-form" onSubmit={ask}>
      <p>{texts.reset.askHelp}</p>
      <Field
        required
        type="email"
        autoComplete="username"
        maxLength={254}
        label={texts.signIn.email}
        ref={focusOnMount}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      {error !== null && <LightProblem error={error} />}
      <LightButton type="submit" loading={state === 'sending'}>
        {texts.reset.ask}
      </LightButton>
    </form>
  )
}
