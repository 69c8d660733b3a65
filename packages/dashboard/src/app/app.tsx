// Which page belongs to which address. Each page is loaded when it is first opened; those behind the sign-in come with the
// shell.

import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { Waiting } from '../components/waiting.tsx'

const Shell = lazy(() => import('./shell.tsx'))
const SignInPage = lazy(() => import('../pages/ways-in/sign-in.tsx'))
const SignUpPage = lazy(() => import('../pages/ways-in/sign-up.tsx'))
const SignedInPage = lazy(() => import('../pages/ways-in/signed-in.tsx'))
const ResetPage = lazy(() => import('../pages/ways-in/reset.tsx'))
const ConfirmPage = lazy(() => import('../pages/ways-in/confirm.tsx'))
const InvitationPage = lazy(() => import('../pages/ways-in/invitation.tsx'))
const FoundKeyPage = lazy(() => import('../pages/found-key.tsx'))

export function App() {
  return (
    <Suspense fallback={<Waiting />}>
      <Switch>
        <Route path="/sign-in" component={SignInPage} />
        <Route path="/sign-up" component={SignUpPage} />
        <Route path="/found-a-key" component={FoundKeyPage} />
        <Route path="/signed-in" component={SignedInPage} />
        <Route path="/reset" component={ResetPage} />
        <Route path="/confirm" component={ConfirmPage} />
        <Route path="/invitation" component={InvitationPage} />
        <Route component={Shell} />
      </Switch>
    </Suspense>
  )
}
