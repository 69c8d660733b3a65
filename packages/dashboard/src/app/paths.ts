// The addresses of the pages. A link is made here and nowhere else.

import type { Me } from '@storekeeper/client'

const inStore = (storeId: string, ...rest: string[]) =>
  ['/stores', storeId, ...rest.map((part) => encodeURIComponent(part))].join('/')

export const ACCOUNT_PAGES = ['profile', 'security', 'sessions', 'data'] as const
export type AccountPage = (typeof ACCOUNT_PAGES)[number]

export const paths = {
  signIn: '/sign-in',
  /** Signs in and then goes on to where somebody wanted to go. */
  signInThen: (path: string) => `/sign-in?returnTo=${encodeURIComponent(path)}`,
  signedIn: '/signed-in',
  signUp: '/sign-up',
  reset: '/reset',
  confirm: '/confirm',
  invitation: '/invitation',
  /** To the identity provider, and back to a page of ours. `fresh`: it asks even somebody who has a session there. */
  singleSignOn: ({ returnTo, fresh = false }: { returnTo: string; fresh?: boolean }) =>
    `/v1/auth/oidc/start?returnTo=${encodeURIComponent(returnTo)}${fresh ? '&fresh=true' : ''}`,
  stores: '/stores',
  newStore: '/stores/new',
  account: '/account',
  accountPage: (page: AccountPage) => (page === 'profile' ? '/account' : `/account/${page}`),
  erased: '/account/erased',
  foundKey: '/found-a-key',
  overview: (storeId: string) => inStore(storeId),
  keys: (storeId: string) => inStore(storeId, 'keys'),
  keysOf: (storeId: string, owner: string) => `${inStore(storeId, 'keys')}?owner=${encodeURIComponent(owner)}`,
  newKey: (storeId: string) => inStore(storeId, 'keys', 'new'),
  importKeys: (storeId: string) => inStore(storeId, 'keys', 'import'),
  key: (storeId: string, keyId: string) => inStore(storeId, 'keys', keyId),
  /** The key's page, where the question about its rotation is open. */
  rotateKey: (storeId: string, keyId: string) => `${inStore(storeId, 'keys', keyId)}?rotate`,
  addresses: (storeId: string) => inStore(storeId, 'addresses'),
  newAddress: (storeId: string) => inStore(storeId, 'addresses', 'new'),
  address: (storeId: string, addressId: string) => inStore(storeId, 'addresses', addressId),
  addressVersions: (storeId: string, addressId: string) => inStore(storeId, 'addresses', addressId, 'versions'),
  customers: (storeId: string) => inStore(storeId, 'customers'),
  /** Beside the customers, not below: a customer may be called "import". */
  importCustomers: (storeId: string) => inStore(storeId, 'import-customers'),
  customer: (storeId: string, externalId: string) => inStore(storeId, 'customers', externalId),
  newCustomerAddress: (storeId: string, externalId: string) =>
    inStore(storeId, 'customers', externalId, 'addresses', 'new'),
  customerAddress: (storeId: string, externalId: string, addressId: string) =>
    inStore(storeId, 'customers', externalId, 'addresses', addressId),
  customerAddressVersions: (storeId: string, externalId: string, addressId: string) =>
    inStore(storeId, 'customers', externalId, 'addresses', addressId, 'versions'),
  invoicing: (storeId: string, { userId, at }: { userId?: string; at?: string } = {}) => {
    const query = new URLSearchParams({ ...(userId ? { user: userId } : {}), ...(at ? { at } : {}) })
    return `${inStore(storeId, 'invoicing')}${query.size ? `?${query}` : ''}`
  },
  invoicingAddress: (storeId: string, addressId: string) => inStore(storeId, 'invoicing', addressId),
  members: (storeId: string) => inStore(storeId, 'members'),
  member: (storeId: string, userId: string) => inStore(storeId, 'members', userId),
  events: (storeId: string) => inStore(storeId, 'events'),
  webhooks: (storeId: string) => inStore(storeId, 'webhooks'),
  webhook: (storeId: string, webhookId: string) => inStore(storeId, 'webhooks', webhookId),
  serviceTokens: (storeId: string) => inStore(storeId, 'service-tokens'),
  storeSettings: (storeId: string) => inStore(storeId, 'settings'),
}

/** No `//` and no dot segment, with which a browser makes another path of it, and no backslash, its other slash. */
const OWN_PATH = /^(?![^?]*\/(?:\/|(?:\.|%2e){1,2}(?:[/?]|$)))\/[\w.~!$&'()*+,;=:@%/?-]*$/i

/** A page of ours, from an address that anybody may have written: nothing in it leads to another host. */
export function ownPath(text: string | null): string | null {
  return text !== null && OWN_PATH.test(text) ? text : null
}

/** What somebody opens a store for depends on what they may do there. */
export function homeOf({ store, role, permissions }: Me['stores'][number]): string {
  if (role === 'CUSTOMER') return paths.addresses(store.id)
  return permissions.includes('MANAGE_KEYS') ? paths.overview(store.id) : paths.customers(store.id)
}
