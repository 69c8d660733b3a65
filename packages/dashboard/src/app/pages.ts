// The pages behind the sign-in, by their addresses. Each is loaded when it is first opened.

import { lazy } from '../components/lazy.tsx'

const NewAddressPage = lazy(() => import('../pages/addresses/new.tsx'))
const AddressPage = lazy(() => import('../pages/addresses/detail.tsx'))

export const PAGES = {
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
