// Every page, by its address, with the dialogs that open on it: for what has to hold on all of them.

import { paths } from '../src/app/paths.ts'

export type PageOf = {
  name: string
  path: string
  /** Buttons whose dialog, menu or tab is looked at as well. */
  opens?: string[]
  /** Also without an account. */
  isPublic?: boolean
}

type Ids = { storeId: string; keyId: string; webhookId: string; userId: string }

export function allPages({ storeId, keyId, webhookId, userId }: Ids): PageOf[] {
  return [
    { name: 'sign-in', path: paths.signIn, isPublic: true },
    { name: 'sign-up', path: paths.signUp, isPublic: true },
    { name: 'reset', path: paths.reset, isPublic: true },
    { name: 'found-a-key', path: paths.foundKey, isPublic: true },
    { name: 'stores', path: paths.stores },
    { name: 'new-store', path: paths.newStore },
    { name: 'overview', path: paths.overview(storeId), opens: ['Switch store', 'Account'] },
    { name: 'keys', path: paths.keys(storeId) },
    { name: 'new-key', path: paths.newKey(storeId), opens: ['End', 'Rate limits', 'Credits'] },
    { name: 'import-keys', path: paths.importKeys(storeId) },
    { name: 'key', path: paths.key(storeId, keyId), opens: ['Rotate', 'Revoke'] },
    { name: 'members', path: paths.members(storeId), opens: ['Invite somebody'] },
    { name: 'member', path: paths.member(storeId, userId), opens: ['Remove'] },
    { name: 'events', path: paths.events(storeId), opens: ['The seal'] },
    { name: 'webhooks', path: paths.webhooks(storeId), opens: ['New webhook'] },
    { name: 'webhook', path: paths.webhook(storeId, webhookId), opens: ['Delete'] },
    { name: 'service-tokens', path: paths.serviceTokens(storeId), opens: ['New service token'] },
    { name: 'customers', path: paths.customers(storeId) },
    { name: 'invoicing', path: paths.invoicing(storeId) },
    { name: 'addresses', path: paths.addresses(storeId) },
    { name: 'new-address', path: paths.newAddress(storeId) },
    { name: 'settings', path: paths.storeSettings(storeId), opens: ['Freeze all keys', 'Delete store'] },
    { name: 'account', path: paths.account },
    { name: 'not-found', path: `${paths.stores}/nowhere/at/all` },
  ]
}
