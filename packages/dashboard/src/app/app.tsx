// Which page belongs to which address. Each page is loaded when it is first opened; those behind the sign-in come with the
// shell.

import { Route, Switch } from 'wouter'
import { lazy } from '../components/lazy.tsx'

const Shell = lazy(() => import('./shell.tsx'))
const WAYS_IN = {
  '/sign-in': lazy(() => import('../pages/ways-in/sign-in.tsx')),
  '/sign-up': lazy(() => import('../pages/ways-in/sign-up.tsx')),
  '/found-a-key': lazy(() => import('../pages/found-key.tsx')),
  '/signed-in': lazy(() => import('../pages/ways-in/signed-in.tsx')),
  '/reset': lazy(() => import('../pages/ways-in/reset.tsx')),
  '/confirm': lazy(() => import('../pages/ways-in/confirm.tsx')),
  '/invitation': lazy(() => import('../pages/ways-in/invitation.tsx')),
}

/** Its script comes while the first one begins. */
export function preloadPage(path: string): void {
  const page = Object.entries(WAYS_IN).find(([wayIn]) => wayIn === path)?.[1] ?? Shell
  page.preload()
}

export function App() {
  return (
    <Switch>
      {Object.entries(WAYS_IN).map(([path, page]) => (
        <Route key={path} path={path} component={page} />
      ))}
      <Route component={Shell} />
    </Switch>
  )
}
