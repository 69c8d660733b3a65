// Signing in: with a password and, if the account has one, a second factor; with a passkey; or with single sign-on. On the
// page of its own, and above a page whose session has ended.

import { Alert, Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { isStorekeeperError, type SignedIn } from '@storekeeper/client'
import { Fingerprint } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { sk, useRead } from '../../app/api.ts'
import { paths } from '../../app/paths.ts'
import { Problem } from '../../components/problem.tsx'
import { texts } from '../../texts.ts'
import { hasPasskeys, usePasskey } from './passkey.ts'

/** After a right password, when the account has a second factor. */
type SecondStep = { challenge: string; methods: string[]; passkey?: object }

type Props = {
  onSignedIn: (user: SignedIn['user']) => void
  /** Where single sign-on leads back to. */
  returnTo: string
  /** Known and fixed when somebody signs in again. */
  email?: string | null
}

export function SignInForm({ onSignedIn, returnTo, email }: Props) {
  const [step, setStep] = useState<SecondStep | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  /** One sign-in at a time. */
  const run = async (work: () => Promise<SignedIn | null>) => {
    setBusy(true)
    setError(null)
    try {
      const signedIn = await work()
      if (signedIn) onSignedIn(signedIn.user)
    } catch (failure) {
      if (isStorekeeperError(failure, 'second_factor_required')) setStep(failure.details as unknown as SecondStep)
      else {
        if (isStorekeeperError(failure, 'invalid_challenge')) setStep(null)
        setError(failure)
      }
    } finally {
      setBusy(false)
    }
  }
  return (
    <Stack>
      {error !== null && <SignInProblem error={error} />}
      {step ? (
        <SecondStepForm step={step} busy={busy} run={run} />
      ) : (
        <FirstStepForm busy={busy} run={run} returnTo={returnTo} email={email ?? ''} />
      )}
    </Stack>
  )
}

type StepProps = { busy: boolean; run: (work: () => Promise<SignedIn | null>) => void }

function FirstStepForm({ busy, run, returnTo, email: known }: StepProps & { returnTo: string; email: string }) {
  const settings = useRead(['settings'], (options) => sk.settings.read(options)).data
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const [capsLock, setCapsLock] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run(() => sk.auth.signIn({ email, password, cookie: true }))
  }
  const passkey = () =>
    run(async () => {
      const credential = await usePasskey(await sk.auth.passkeyOptions())
      return credential && sk.auth.passkey({ credential, cookie: true } as never)
    })
  return (
    <Stack>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={texts.signIn.email}
            type="email"
            name="email"
            autoComplete="username"
            required
            maxLength={254}
            value={email}
            readOnly={known !== ''}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordInput
            label={texts.signIn.password}
            name="password"
            autoComplete="current-password"
            required
            maxLength={256}
            value={password}
            description={capsLock ? texts.signIn.capsLock : undefined}
            onKeyUp={(event) => setCapsLock(event.getModifierState('CapsLock'))}
            onChange={(event) => setPassword(event.currentTarget.value)}
            visibilityToggleButtonProps={{ 'aria-label': texts.signIn.showPassword }}
          />
          <Button type="submit" loading={busy}>
            {texts.signIn.signIn}
          </Button>
        </Stack>
      </form>
      <Anchor component={Link} href={paths.reset} size="sm">
        {texts.signIn.forgotten}
      </Anchor>
      {(hasPasskeys || settings?.oidc) && <Divider label={texts.signIn.or} />}
      {hasPasskeys && (
        <Button variant="default" leftSection={<Fingerprint size={18} aria-hidden />} onClick={passkey} disabled={busy}>
          {texts.signIn.withPasskey}
        </Button>
      )}
      {settings?.oidc && (
        <Button variant="default" component="a" href={`/v1/auth/oidc/start?returnTo=${encodeURIComponent(returnTo)}`}>
          {texts.signIn.withSingleSignOn}
        </Button>
      )}
    </Stack>
  )
}

function SecondStepForm({ step, busy, run }: StepProps & { step: SecondStep }) {
  const [code, setCode] = useState('')
  const complete = (given: object) =>
    sk.auth.secondFactor({ challenge: step.challenge, cookie: true, ...given } as never)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run(() => complete({ code: code.trim() }))
  }
  const passkey = () =>
    run(async () => {
      const credential = await usePasskey(step.passkey ?? {})
      return credential && complete({ credential })
    })
  return (
    <Stack>
      {step.methods.some((method) => method !== 'passkey') && (
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              label={texts.signIn.code}
              description={texts.signIn.codeHelp}
              name="code"
              autoComplete="one-time-code"
              autoCapitalize="none"
              spellCheck={false}
              required
              maxLength={40}
              data-autofocus
              value={code}
              onChange={(event) => setCode(event.currentTarget.value)}
            />
            <Button type="submit" loading={busy}>
              {texts.signIn.continue}
            </Button>
          </Stack>
        </form>
      )}
      {step.methods.includes('passkey') && hasPasskeys && (
        <Button variant="default" leftSection={<Fingerprint size={18} aria-hidden />} onClick={passkey} disabled={busy}>
          {texts.signIn.usePasskey}
        </Button>
      )}
    </Stack>
  )
}

function SignInProblem({ error }: { error: unknown }) {
  if (!isStorekeeperError(error) || !(error.code in texts.signIn.refusals)) return <Problem error={error} />
  const text = texts.signIn.refusals[error.code as keyof typeof texts.signIn.refusals]
  return (
    <Alert color="red" role="alert">
      <Text size="sm">{text}</Text>
      {error.retryAfter !== undefined && <Text size="sm">{texts.signIn.retryIn(Math.ceil(error.retryAfter))}</Text>}
    </Alert>
  )
}
