// Signing in: with a password and, if the account has one, a second factor; with a passkey; or with single sign-on. On the
// pages of the ways in, and above a page whose session has ended.

import { isStorekeeperError, type SignedIn } from '@storekeeper/client'
import { type FormEvent, useEffect, useState } from 'react'
import { Link } from 'wouter'
import { sk, useSettings } from '../../app/client.ts'
import { paths } from '../../app/paths.ts'
import { announce } from '../../app/session.ts'
import { focusOnMount } from '../../components/focus.ts'
import { Field, LightButton, Notice, SecretField } from '../../components/light.tsx'
import { LightProblem } from '../../components/light-problem.tsx'
import { texts } from '../../texts.ts'
import { askForPasskey, hasPasskeys } from './passkey.ts'

type SecondStep = { challenge: string; methods: string[]; passkey?: Record<string, unknown> }

type SingleSignOn = {
  /** The page that the identity provider leads back to. */
  returnTo: string
  fresh?: boolean
  /** In a tab of its own, so that this page stays as it is. */
  inNewTab?: boolean
  /** Before the browser leaves. */
  onLeave?: () => void
}

type Props = {
  onSignedIn: (user: SignedIn['user']) => void
  singleSignOn: SingleSignOn
  /** Known and fixed when somebody signs in again. */
  email?: string | null
  label?: string
}

export function SignInForm({ onSignedIn, singleSignOn, email, label = texts.signIn.signIn }: Props) {
  const [step, setStep] = useState<SecondStep | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  /** One sign-in at a time. */
  const run = async (work: () => Promise<SignedIn | null>) => {
    setBusy(true)
    setError(null)
    try {
      const signedIn = await work()
      if (!signedIn) return setError(new Error(texts.signIn.noPasskey))
      announce({ is: 'signed in' })
      onSignedIn(signedIn.user)
    } catch (failure) {
      if (isStorekeeperError(failure, 'second_factor_required')) setStep(failure.details)
      else {
        if (isStorekeeperError(failure, 'invalid_challenge')) setStep(null)
        setError(failure)
      }
    } finally {
      setBusy(false)
    }
  }
  return (
    <div className="light-form">
      {error !== null && <SignInProblem error={error} />}
      {step ? (
        <SecondStepForm step={step} busy={busy} run={run} />
      ) : (
        <FirstStepForm busy={busy} run={run} singleSignOn={singleSignOn} email={email ?? ''} label={label} />
      )}
    </div>
  )
}

type StepProps = { busy: boolean; run: (work: () => Promise<SignedIn | null>) => void }
type FirstStepProps = StepProps & { singleSignOn: SingleSignOn; email: string; label: string }

function FirstStepForm({ busy, run, singleSignOn, email: known, label }: FirstStepProps) {
  const settings = useSettings()
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const [capsLock, setCapsLock] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run(() => sk.auth.signIn({ email, password, cookie: true }))
  }
  const passkey = () =>
    run(async () => {
      const credential = await askForPasskey(await sk.auth.passkeyOptions())
      return credential && sk.auth.passkey({ credential, cookie: true })
    })
  return (
    <>
      <form className="light-form" onSubmit={submit}>
        <Field
          label={texts.signIn.email}
          type="email"
          name="email"
          autoComplete="username"
          required
          maxLength={254}
          value={email}
          readOnly={known !== ''}
          ref={known === '' ? focusOnMount : undefined}
          data-autofocus={known === '' || undefined}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <SecretField
          label={texts.signIn.password}
          toggle={texts.signIn.showPassword}
          name="password"
          autoComplete="current-password"
          required
          maxLength={256}
          value={password}
          data-autofocus={known !== '' || undefined}
          description={capsLock ? texts.signIn.capsLock : undefined}
          onKeyUp={(event) => setCapsLock(event.getModifierState('CapsLock'))}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <LightButton type="submit" loading={busy}>
          {label}
        </LightButton>
      </form>
      <Forgotten inNewTab={singleSignOn.inNewTab} />
      {(hasPasskeys || settings?.oidc) && <div className="light-or">{texts.signIn.or}</div>}
      {hasPasskeys && (
        <LightButton kind="plain" onClick={passkey} disabled={busy}>
          <PasskeyIcon />
          {texts.signIn.withPasskey}
        </LightButton>
      )}
      {settings?.oidc && <SingleSignOnLink {...singleSignOn} />}
    </>
  )
}

function Forgotten({ inNewTab = false }: Pick<SingleSignOn, 'inNewTab'>) {
  const link = { className: 'light-small', href: paths.reset, children: texts.signIn.forgotten }
  return inNewTab ? <a {...link} target="_blank" /> : <Link {...link} />
}

function SingleSignOnLink({ inNewTab = false, onLeave, ...way }: SingleSignOn) {
  return (
    <a
      className="light-button light-plain"
      href={paths.singleSignOn(way)}
      onClick={onLeave}
      {...(inNewTab ? { target: '_blank' } : {})}
    >
      {inNewTab ? texts.signIn.withSingleSignOnInTab : texts.signIn.withSingleSignOn}
    </a>
  )
}

function SecondStepForm({ step, busy, run }: StepProps & { step: SecondStep }) {
  const { challenge, methods, passkey: options } = step
  const [code, setCode] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run(() => sk.auth.secondFactor({ challenge, cookie: true, code: code.trim() }))
  }
  const passkey = () =>
    run(async () => {
      const credential = await askForPasskey(options ?? {})
      return credential && sk.auth.secondFactor({ challenge, cookie: true, credential })
    })
  return (
    <>
      {methods.includes('passkey') && hasPasskeys && (
        <>
          <LightButton onClick={passkey} disabled={busy}>
            <PasskeyIcon />
            {texts.signIn.usePasskey}
          </LightButton>
          <div className="light-or">{texts.signIn.or}</div>
        </>
      )}
      <form className="light-form" onSubmit={submit}>
        <Field
          label={texts.signIn.code}
          description={methods.includes('totp') ? texts.signIn.codeHelp : texts.signIn.recoveryCodeHelp}
          name="code"
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
          required
          maxLength={40}
          ref={focusOnMount}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <LightButton type="submit" loading={busy}>
          {texts.signIn.continue}
        </LightButton>
      </form>
    </>
  )
}

function PasskeyIcon() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="9" cy="7" r="4" />
      <path d="M2 21v-2a5 5 0 0 1 5-5h4" />
      <circle cx="17.5" cy="12.5" r="2.5" />
      <path d="M17.5 15v7l2-2-1.5-1.5 1.5-1.5" />
    </svg>
  )
}

function SignInProblem({ error }: { error: unknown }) {
  const { code = '', retryAfter = 0 } = isStorekeeperError(error) ? error : {}
  if (!(code in texts.signIn.refusals)) return <LightProblem error={error} />
  return (
    <Notice tone="bad">
      {texts.signIn.refusals[code as keyof typeof texts.signIn.refusals]}
      {retryAfter > 0 && <Countdown key={String(error)} seconds={Math.ceil(retryAfter)} />}
    </Notice>
  )
}

/** Silent for screen readers, which would read every second. */
function Countdown({ seconds }: { seconds: number }) {
  const [end] = useState(() => Date.now() + seconds * 1000)
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    const timer = setInterval(() => setLeft(Math.max(0, Math.ceil((end - Date.now()) / 1000))), 1_000)
    return () => clearInterval(timer)
  }, [end])
  return <span aria-live="off">{left > 0 ? texts.signIn.retryIn(left) : texts.signIn.retryNow}</span>
}
