// The pages behind the sign-in, with what all of them need: what was read is kept, and somebody whose session has ended
// signs in above the page.

import { QueryClientProvider } from '@tanstack/react-query'
import { useState } from 'react'
import { matchRoute, Route, Switch, useLocation, useRouter } from 'wouter'
import { lazy } from '../components/lazy.tsx'
import { Frame } from './frame.tsx'
import { Home } from './home.tsx'
import { preloadMe } from './me.ts'
import { paths } from './paths.ts'
import { queryClient } from './query.ts'
import { useGate } from './session.ts'

const SignInAgain = lazy(() => import('./sign-in-again.tsx'), null)
const NotFound = lazy(() => import('./not-found.tsx'))
const ErasedPage = lazy(() => import('../pages/account/erased.tsx'))
const NewAddressPage = lazy(() => import('../pages/addresses/new.tsx'))
const AddressPage = lazy(() => import('../pages/addresses/detail.tsx'))

const PAGES = {
  '/account/:page?': lazy(() => import('../pages/account/account.tsx')),
  '/stores': lazy(() => import('../pages/stores/list.tsx')),
  '/stores/new': lazy(() => import('../pages/stores/new.tsx')),
  '/stores/:storeId': lazy(() => import('../pages/overview.tsx')),
  '/stores/:storeId/members': lazy(() => import('../pages/members/list.tsx')),
  '/stores/:storeId/members/:userId': lazy(() => import('../pages/members/detail.tsx')),
  '/stores/:storeId/service-tokens': lazy(() => import('../pages/service-tokens.tsx')),
  '/stores/:storeId/webhooks': lazy(() => import('../pages/webhooks/list.tsx')),
  '/stores/:storeId/webhooks/:webhookId': lazy(() => import('../pages/webhooks/detail.tsx')),
  '/stores/:storeId/events': lazy(() => import('../pages/events/list.tsx')),
  '/stores/:storeId/settings': lazy(() => import('../pages/stores/settings.tsx')),
  '/stores/:storeId/keys': lazy(() => import('../pages/keys/list.tsx')),
  '/stores/:storeId/keys/new': lazy(() => import('../pages/keys/new.tsx')),
  '/stores/:storeId/keys/import': lazy(() => import('../pages/keys/import.tsx')),
  '/stores/:storeId/keys/:keyId': lazy(() => import('../pages/keys/detail.tsx')),
  '/stores/:storeId/addresses': lazy(() => import('../pages/addresses/list.tsx')),
  '/stores/:storeId/addresses/new': NewAddressPage,
  '/stores/:storeId/addresses/:addressId/:tab?': AddressPage,
  '/stores/:storeId/invoicing': lazy(() => import('../pages/invoicing/list.tsx')),
  '/stores/:storeId/invoicing/:addressId': lazy(() => import('../pages/invoicing/versions.tsx')),
  '/stores/:storeId/customers': lazy(() => import('../pages/customers/list.tsx')),
  '/stores/:storeId/import-customers': lazy(() => import('../pages/customers/import.tsx')),
  '/stores/:storeId/customers/:externalId': lazy(() => import('../pages/customers/detail.tsx')),
  '/stores/:storeId/customers/:externalId/addresses/new': NewAddressPage,
  '/stores/:storeId/customers/:externalId/addresses/:addressId/:tab?': AddressPage,
}

export default function Shell() {
  const gate = useGate()
  usePreload()
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

/** Who is signed in is read, and the script of the page comes, before the frame is there that waits for both. */
function usePreload(): void {
  const { parser } = useRouter()
  const [location] = useLocation()
  useState(() => {
    if (location === paths.erased) return
    preloadMe()
    const [, page] = Object.entries(PAGES).find(([path]) => matchRoute(parser, path, location)[0]) ?? []
    page?.preload()
  })
}
