// The addresses of the pages. A link is made here and nowhere else.

const inStore = (storeId: string, ...rest: string[]) =>
  ['/stores', storeId, ...rest.map((part) => encodeURIComponent(part))].join('/')

export const paths = {
  signIn: '/sign-in',
  signUp: '/sign-up',
  reset: '/reset',
  stores: '/stores',
  newStore: '/stores/new',
  account: '/account',
  foundKey: '/found-a-key',
  overview: (storeId: string) => inStore(storeId),
  keys: (storeId: string) => inStore(storeId, 'keys'),
  keysOf: (storeId: string, owner: string) => `${inStore(storeId, 'keys')}?owner=${encodeURIComponent(owner)}`,
  newKey: (storeId: string) => inStore(storeId, 'keys', 'new'),
  importKeys: (storeId: string) => inStore(storeId, 'keys', 'import'),
  key: (storeId: string, keyId: string) => inStore(storeId, 'keys', keyId),
  addresses: (storeId: string) => inStore(storeId, 'addresses'),
  newAddress: (storeId: string) => inStore(storeId, 'addresses', 'new'),
  address: (storeId: string, addressId: string) => inStore(storeId, 'addresses', addressId),
  customers: (storeId: string) => inStore(storeId, 'customers'),
  customer: (storeId: string, externalId: string) => inStore(storeId, 'customers', externalId),
  invoicing: (storeId: string) => inStore(storeId, 'invoicing'),
  members: (storeId: string) => inStore(storeId, 'members'),
  member: (storeId: string, userId: string) => inStore(storeId, 'members', userId),
  events: (storeId: string) => inStore(storeId, 'events'),
  webhooks: (storeId: string) => inStore(storeId, 'webhooks'),
  webhook: (storeId: string, webhookId: string) => inStore(storeId, 'webhooks', webhookId),
  serviceTokens: (storeId: string) => inStore(storeId, 'service-tokens'),
  storeSettings: (storeId: string) => inStore(storeId, 'settings'),
}
