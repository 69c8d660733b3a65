// An invitation is accepted: by whoever is signed in, after signing in, or with a new account.

import { type InvitationPreview, isStorekeeperError, type Me, type Membership } from '@storekeeper/client'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { sk } from '../../app/client.ts'
import { isOthersPage, startAnew } from '../../app/known-user.ts'
import { keepLinkToken, linkToken } from '../../app/link-token.ts'
import { homeOf, paths } from '../../app/paths.ts'
import { announce, userChanged } from '../../app/session.ts'
import { LightButton, Notice } from '../../components/light.tsx'
import { LightProblem } from '../../components/light-problem.tsx'
import { texts } from '../../texts.ts'
import { CookieRefused, Narrow } from './narrow.tsx'
import { readSession } from './session-kept.ts'
import { SignInForm } from './sign-in-form.tsx'
import { SignUpForm } from './sign-up-form.tsx'

export default function InvitationPage() {
  const [token] = useState(() => linkToken(paths.invitation))
  return (
    <Narrow title={texts.invitation.title}>
      {token ? <Invitation token={token} /> : <Notice tone="bad">{texts.invitation.incomplete}</Notice>}
    </Narrow>
  )
}

type State =
  | { is: 'looking' }
  | { is: 'useless' }
  | { is: 'nobody' }
  | { is: 'somebody'; name: string }
  | { is: 'cookie refused' }
  | { is: 'accepted'; membership: Membership }

function Invitation({ token }: { token: string }) {
  const [state, setState] = useState<State>({ is: 'looking' })
  const [preview, setPreview] = useState<InvitationPreview | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    void Promise.allSettled([sk.invitations.preview({ token }), readSession()]).then(([invitation, session]) => {
      if (invitation.status === 'fulfilled') setPreview(invitation.value)
      else setError(invitation.reason)
      const isUseless =
        invitation.status === 'rejected' && isStorekeeperError(invitation.reason, 'invitation_not_found')
      setState(isUseless ? { is: 'useless' } : stateOf(session.status === 'fulfilled' ? session.value : null))
    })
  }, [token])
  const work = async (what: () => Promise<void>) => {
    setBusy(true)
    setError(null)
    await what().catch(setError)
    setBusy(false)
  }
  const accept = () =>
    work(async () => {
      const membership = await sk.invitations.accept({ token })
      userChanged()
      setState({ is: 'accepted', membership })
    })
  /** Whoever has signed in here wants to accept. */
  const entered = async ({ id }: { id: string }) => {
    if (isOthersPage(id)) return startAnew({ keepsLink: true })
    const me = await readSession()
    setState(me ? stateOf(me) : { is: 'cookie refused' })
    if (me) await accept()
  }
  const leave = () =>
    work(async () => {
      await sk.auth.signOut()
      announce({ is: 'signed out' })
      startAnew({ keepsLink: true })
    })
  if (state.is === 'looking') return null
  if (state.is === 'accepted') return <Accepted {...state.membership} />
  return (
    <>
      {preview && <Invited {...preview} />}
      {state.is === 'cookie refused' && <CookieRefused />}
      {error !== null && <Refusal error={error} />}
      {state.is === 'useless' ? (
        <Link href="/">{texts.invitation.goOn}</Link>
      ) : state.is === 'somebody' ? (
        <div className="light-form">
          <p>{texts.invitation.signedInAs(state.name)}</p>
          <LightButton onClick={() => void accept()} loading={busy}>
            {texts.invitation.accept}
          </LightButton>
          <LightButton kind="plain" onClick={() => void leave()} disabled={busy}>
            {texts.invitation.otherAccount}
          </LightButton>
        </div>
      ) : (
        <Enter token={token} onEntered={(user) => void entered(user)} />
      )}
    </>
  )
}

function stateOf(me: Me | null): State {
  return me ? { is: 'somebody', name: nameOf(me.user) } : { is: 'nobody' }
}

/** Said before anybody is asked to sign in. */
function Invited({ store, role, expiresAt }: InvitationPreview) {
  return (
    <p>
      {texts.invitation.to} <strong className="breaks">{store.name}</strong> {texts.invitation.as(role)}.{' '}
      {texts.invitation.worksUntil(expiresAt)}
    </p>
  )
}

const nameOf = ({
  email,
  pendingEmail,
  name,
  id,
}: Record<'email' | 'pendingEmail' | 'name', string | null> & { id: string }) => email ?? pendingEmail ?? name ?? id

function Enter({ token, onEntered }: { token: string; onEntered: (user: { id: string }) => void }) {
  const [way, setWay] = useState<'sign-in' | 'sign-up'>('sign-in')
  return (
    <div className="light-form">
      <p>{texts.invitation.help}</p>
      <div className="light-ways" role="group" aria-label={texts.invitation.ways}>
        {(['sign-in', 'sign-up'] as const).map((one) => (
          <LightButton key={one} kind="plain" aria-pressed={one === way} onClick={() => setWay(one)}>
            {one === 'sign-in' ? texts.invitation.haveAccount : texts.invitation.newHere}
          </LightButton>
        ))}
      </div>
      {way === 'sign-up' ? (
        <SignUpForm invitation={token} onSignedUp={onEntered} />
      ) : (
        <SignInForm
          label={texts.invitation.signIn}
          onSignedIn={onEntered}
          singleSignOn={{ returnTo: paths.invitation, onLeave: keepLinkToken }}
        />
      )}
    </div>
  )
}

function Refusal({ error }: { error: unknown }) {
  const code = isStorekeeperError(error) ? error.code : ''
  if (!(code in texts.invitation.refusals)) return <LightProblem error={error} />
  return (
    <Notice tone={code === 'already_member' ? 'good' : 'bad'}>
      {texts.invitation.refusals[code as keyof typeof texts.invitation.refusals]}
      {code === 'already_member' && <Link href={paths.stores}>{texts.app.home}</Link>}
    </Notice>
  )
}

function Accepted(membership: Membership) {
  return (
    <>
      <Notice tone="good">{texts.invitation.accepted(membership.store.name)}</Notice>
      <Link className="light-button light-primary" href={homeOf(membership)}>
        {texts.invitation.open}
      </Link>
    </>
  )
}
