// Which page belongs to which address. Each page is loaded when it is first opened.

import { Center, Loader } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { texts } from '../texts.ts'
import { useGate } from './session.ts'

const Home = lazy(() => import('./home.tsx'))
const Shell = lazy(() => import('./shell.tsx'))
const SignInAgain = lazy(() => import('./sign-in-again.tsx'))
const SignInPage = lazy(() => import('../pages/ways-in/sign-in.tsx'))
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
const SignUpPage = lazy(() => import('../pages/ways-in/sign-up.tsx'))
const SignedInPage = lazy(() => import('../pages/ways-in/signed-in.tsx'))
const ResetPage = lazy(() => import('../pages/ways-in/reset.tsx'))
const ConfirmPage = lazy(() => import('../pages/ways-in/confirm.tsx'))
const InvitationPage = lazy(() => import('../pages/ways-in/invitation.tsx'))
const AccountPage = lazy(() => import('../pages/account/account.tsx'))
const ErasedPage = lazy(() => import('../pages/account/erased.tsx'))
const FoundKeyPage = lazy(() => import('../pages/found-key.tsx'))
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

export function App() {
  const gate = useGate()
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
        <Route path="/account/erased" component={ErasedPage} />
        <Route path="/" component={Home} />
        <Route>
          <Shell>
            <Suspense fallback={<Waiting />}>
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
                <Route
                  path="/stores/:storeId/customers/:externalId/addresses/:addressId/:tab?"
                  component={AddressPage}
                />
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </Shell>
        </Route>
      </Switch>
      {gate && <SignInAgain gate={gate} />}
    </Suspense>
  )
}

function Waiting() {
  return (
    <Center mih="40vh">
      <Loader aria-label={texts.app.loading} />
    </Center>
  )
}
