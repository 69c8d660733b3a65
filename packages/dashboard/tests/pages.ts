// Every page, by its address, with the dialogs that open on it: for what has to hold on all of them.

import { paths } from '../src/app/paths.ts'

export type PageOf = {
  name: string
  path: string
  /** Buttons and tabs whose dialog, menu or panel is looked at as well. */
  opens?: string[]
  /** Also without an account. */
  isPublic?: boolean
}

export type Ids = {
  storeId: string
  keyId: string
  webhookId: string
  userId: string
  addressId: string
  /** Of a customer, and of an address that is theirs. */
  customer: { externalId: string; userId: string; addressId: string }
}

export function allPages({ storeId, keyId, webhookId, userId, addressId, customer }: Ids): PageOf[] {
  const { externalId } = customer
  return [
    { name: 'sign-in', path: paths.signIn, isPublic: true },
    { name: 'sign-up', path: paths.signUp, isPublic: true },
    { name: 'reset', path: paths.reset, isPublic: true },
    { name: 'confirm', path: paths.confirm, isPublic: true },
    { name: 'invitation', path: `${paths.invitation}#token=unknown`, isPublic: true },
    { name: 'signed-in', path: paths.signedIn, isPublic: true },
    { name: 'found-a-key', path: paths.foundKey, isPublic: true },
    { name: 'stores', path: paths.stores },
    { name: 'new-store', path: paths.newStore },
    { name: 'overview', path: paths.overview(storeId), opens: ['Switch store', 'Search', 'Account'] },
    { name: 'keys', path: paths.keys(storeId) },
    { name: 'new-key', path: paths.newKey(storeId), opens: ['End', 'Rate limits', 'Credits'] },
    { name: 'import-keys', path: paths.importKeys(storeId) },
    { name: 'key', path: paths.key(storeId, keyId), opens: ['Rotate', 'Revoke', 'Edit'] },
    { name: 'members', path: paths.members(storeId), opens: ['Invite somebody'] },
    { name: 'member', path: paths.member(storeId, userId), opens: ['Remove'] },
    { name: 'events', path: paths.events(storeId), opens: ['Check for tampering'] },
    { name: 'webhooks', path: paths.webhooks(storeId), opens: ['New webhook'] },
    { name: 'webhook', path: paths.webhook(storeId, webhookId), opens: ['Delete'] },
    { name: 'service-tokens', path: paths.serviceTokens(storeId), opens: ['New service token'] },
    { name: 'customers', path: paths.customers(storeId), opens: ['Add a customer'] },
    { name: 'import-customers', path: paths.importCustomers(storeId) },
    { name: 'customer', path: paths.customer(storeId, externalId), opens: ['Details', 'Erase'] },
    { name: 'new-customer-address', path: paths.newCustomerAddress(storeId, externalId) },
    { name: 'customer-address', path: paths.customerAddress(storeId, externalId, customer.addressId) },
    { name: 'customer-versions', path: paths.customerAddressVersions(storeId, externalId, customer.addressId) },
    { name: 'invoicing', path: paths.invoicing(storeId) },
    { name: 'invoicing-person', path: paths.invoicing(storeId, customer), opens: ['Put on hold'] },
    { name: 'invoicing-address', path: paths.invoicingAddress(storeId, customer.addressId) },
    { name: 'addresses', path: paths.addresses(storeId), opens: ['Delete'] },
    { name: 'new-address', path: paths.newAddress(storeId) },
    { name: 'address', path: paths.address(storeId, addressId) },
    { name: 'address-versions', path: paths.addressVersions(storeId, addressId) },
    { name: 'settings', path: paths.storeSettings(storeId), opens: ['Freeze all keys', 'Delete store'] },
    { name: 'account', path: paths.account },
    { name: 'account-security', path: paths.accountPage('security'), opens: ['Set up an app', 'Add a passkey'] },
    { name: 'account-sessions', path: paths.accountPage('sessions') },
    { name: 'account-data', path: paths.accountPage('data'), opens: ['Erase account'] },
    { name: 'not-found', path: `${paths.stores}/nowhere/at/all` },
  ]
}
