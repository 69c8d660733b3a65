// Which page belongs to which address. Each page is loaded when it is first opened; those behind the sign-in come with the
// shell.

import { useEffect, useState } from 'react'
import { matchRoute, Route, Switch, useLocation, useRouter } from 'wouter'
import { lazy } from '../components/lazy.tsx'
import { Shell } from './lazy-shell.ts'
import { dropLinkToken, hasLinkToken } from './link-token.ts'
import { PAGES } from './pages.ts'

const WAYS_IN = {
  '/': lazy(() => import('./entrance.tsx')),
  '/sign-in': lazy(() => import('../pages/ways-in/sign-in.tsx')),
  '/sign-up': lazy(() => import('../pages/ways-in/sign-up.tsx')),
  '/found-a-key': lazy(() => import('../pages/found-key.tsx')),
  '/signed-in': lazy(() => import('../pages/ways-in/signed-in.tsx')),
  '/reset': lazy(() => import('../pages/ways-in/reset.tsx')),
  '/confirm': lazy(() => import('../pages/ways-in/confirm.tsx')),
  '/invitation': lazy(() => import('../pages/ways-in/invitation.tsx')),
}

/** Its script comes while the first one begins, and so does what it will read, which is asked for first. */
export function preloadPage(path: string): void {
  const wayIn = Object.entries(WAYS_IN).find(([own]) => own === path)?.[1]
  if (wayIn) return wayIn.preload()
  // Whoever reads the answers is told of a failure.
  import('./early.ts').catch(() => {})
  Shell.preload()
}

export function App() {
  usePreload()
  useLinkTokenHere()
  return (
    <Switch>
      {Object.entries(WAYS_IN).map(([path, page]) => (
        <Route key={path} path={path} component={page} />
      ))}
      <Route component={Shell} />
    </Switch>
  )
}

/** The token of a mailed link ends when its page is left for another one. */
function useLinkTokenHere(): void {
  const [location] = useLocation()
  useEffect(() => {
    if (!hasLinkToken()) dropLinkToken()
  }, [location])
}

/** The script of a page behind the sign-in comes with the shell, not after it. */
function usePreload(): void {
  const { parser } = useRouter()
  const [location] = useLocation()
  useState(() => {
    const [, page] = Object.entries(PAGES).find(([path]) => matchRoute(parser, path, location)[0]) ?? []
    page?.preload()
  })
}
