// The pages behind the sign-in, with what all of them need: what was read is kept, and somebody whose session has ended
// signs in above the page.

import { QueryClientProvider } from '@tanstack/react-query'
import { Route, Switch } from 'wouter'
import { lazy } from '../components/lazy.tsx'
import { Frame } from './frame.tsx'
import { Home } from './home.tsx'
import { useOtherTabs } from './other-tabs.ts'
import { PAGES } from './pages.ts'
import { queryClient } from './query.ts'
import { useGate } from './session.ts'

const SignInAgain = lazy(() => import('./sign-in-again.tsx'), null)
const NotFound = lazy(() => import('./not-found.tsx'))
const ErasedPage = lazy(() => import('../pages/account/erased.tsx'))

export default function Shell() {
  const gate = useGate()
  useOtherTabs()
  return (
    <QueryClientProvider client={queryClient}>
      <Switch>
        <Route path="/" component={Home} />
        <Route path="/account/erased" component={ErasedPage} />
        <Route>
          <Frame>
            <Pages />
          </Frame>
        </Route>
      </Switch>
      {gate && <SignInAgain gate={gate} />}
    </QueryClientProvider>
  )
}

function Pages() {
  return (
    <Switch>
      {Object.entries(PAGES).map(([path, page]) => (
        <Route key={path} path={path} component={page} />
      ))}
      <Route component={NotFound} />
    </Switch>
  )
}
