// The pages behind the sign-in, with what all of them need: what was read is kept, and somebody whose session has ended
// signs in above the page.

import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { Waiting } from '../components/waiting.tsx'
import { Frame } from './frame.tsx'
import { Home } from './home.tsx'
import { queryClient } from './query.ts'
import { useGate } from './session.ts'

const SignInAgain = lazy(() => import('./sign-in-again.tsx'))
const NotFound = lazy(() => import('./not-found.tsx'))
const StoresPage = lazy(() => import('../pages/stores/list.tsx'))
const KeysPage = lazy(() => import('../pages/keys/list.tsx'))
const NewKeyPage = lazy(() => import('../pages/keys/new.tsx'))
const ImportKeysPage = lazy(() => import('../pages/keys/import.tsx'))
const KeyPage = lazy(() => import('../pages/keys/detail.tsx'))
const NewStorePage = lazy(() => import('../pages/stores/new.tsx'))
const StoreSettingsPage = lazy(() => import('../pages/stores/settings.tsx'))
const MembersPage = lazy(() => import('../pages/members/list.tsx'))
const MemberPage = lazy(() => import('../pages/members/detail.tsx'))
const ServiceTokensPage = lazy(() => import('../pages/service-tokens.tsx'))
const AccountPage = lazy(() => import('../pages/account/account.tsx'))
const ErasedPage = lazy(() => import('../pages/account/erased.tsx'))
const WebhooksPage = lazy(() => import('../pages/webhooks/list.tsx'))
const WebhookPage = lazy(() => import('../pages/webhooks/detail.tsx'))
const AddressesPage = lazy(() => import('../pages/addresses/list.tsx'))
const NewAddressPage = lazy(() => import('../pages/addresses/new.tsx'))
const AddressPage = lazy(() => import('../pages/addresses/detail.tsx'))
const InvoicingPage = lazy(() => import('../pages/invoicing/list.tsx'))
const InvoicingAddressPage = lazy(() => import('../pages/invoicing/versions.tsx'))
const CustomersPage = lazy(() => import('../pages/customers/list.tsx'))
const CustomerPage = lazy(() => import('../pages/customers/detail.tsx'))
const ImportCustomersPage = lazy(() => import('../pages/customers/import.tsx'))
const EventsPage = lazy(() => import('../pages/events/list.tsx'))
const OverviewPage = lazy(() => import('../pages/overview.tsx'))

export default function Shell() {
  const gate = useGate()
  return (
    <QueryClientProvider client={queryClient}>
      <Switch>
        <Route path="/" component={Home} />
        <Route path="/account/erased" component={ErasedPage} />
        <Route>
          <Frame>
            <Suspense fallback={<Waiting />}>
              <Pages />
            </Suspense>
          </Frame>
        </Route>
      </Switch>
      {gate && (
        <Suspense>
          <SignInAgain gate={gate} />
        </Suspense>
      )}
    </QueryClientProvider>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/account/:page?" component={AccountPage} />
      <Route path="/stores" component={StoresPage} />
      <Route path="/stores/new" component={NewStorePage} />
      <Route path="/stores/:storeId" component={OverviewPage} />
      <Route path="/stores/:storeId/members" component={MembersPage} />
      <Route path="/stores/:storeId/members/:userId" component={MemberPage} />
      <Route path="/stores/:storeId/service-tokens" component={ServiceTokensPage} />
      <Route path="/stores/:storeId/webhooks" component={WebhooksPage} />
      <Route path="/stores/:storeId/webhooks/:webhookId" component={WebhookPage} />
      <Route path="/stores/:storeId/events" component={EventsPage} />
      <Route path="/stores/:storeId/settings" component={StoreSettingsPage} />
      <Route path="/stores/:storeId/keys" component={KeysPage} />
      <Route path="/stores/:storeId/keys/new" component={NewKeyPage} />
      <Route path="/stores/:storeId/keys/import" component={ImportKeysPage} />
      <Route path="/stores/:storeId/keys/:keyId" component={KeyPage} />
      <Route path="/stores/:storeId/addresses" component={AddressesPage} />
      <Route path="/stores/:storeId/addresses/new" component={NewAddressPage} />
      <Route path="/stores/:storeId/addresses/:addressId/:tab?" component={AddressPage} />
      <Route path="/stores/:storeId/invoicing" component={InvoicingPage} />
      <Route path="/stores/:storeId/invoicing/:addressId" component={InvoicingAddressPage} />
      <Route path="/stores/:storeId/customers" component={CustomersPage} />
      <Route path="/stores/:storeId/import-customers" component={ImportCustomersPage} />
      <Route path="/stores/:storeId/customers/:externalId" component={CustomerPage} />
      <Route path="/stores/:storeId/customers/:externalId/addresses/new" component={NewAddressPage} />
      <Route path="/stores/:storeId/customers/:externalId/addresses/:addressId/:tab?" component={AddressPage} />
      <Route component={NotFound} />
    </Switch>
  )
}
