// What this installation has decided, built once in service.ts from the settings: what the domain needs to know of them.

import type { Config } from './config.ts'
import type { Resolve } from './core/dns.ts'
import { allPermissions, type Permission } from './core/permissions.ts'
import type { Keyring } from './crypto/keyring.ts'

export type Instance = {
  keyring: Keyring
  permissions: readonly Permission[]
  keyPrefix: string
  maxKeysPerStore: number
  maxNewKeysPerDay: number
  maxRotationsPerDay: number
  maxAddressesPerUser: number
  maxStoresPerUser: number
  maxInvitationsPerStore: number
  maxCustomersPerStore: number
  maxWebhooksPerStore: number
  maxSessionsPerUser: number
  maxVersionsPerDay: number
  signUp: 'open' | 'closed'
  /** What people know the service by. */
  name: string
  /** Where people reach the service; set wherever mail is. */
  publicUrl: string | null
  /** Whether it can send mail, and whether people can sign in with an identity provider. */
  mail: boolean
  oidc: boolean
  /** Whether webhooks may reach inner addresses, and how names of hosts are looked up. */
  webhooks: { allowPrivate: boolean; resolve: Resolve }
}

/** Revoked and expired keys stay. So many new ones replace each live key several times a day, and a loop is stopped. */
const NEW_KEYS_PER_LIVE_KEY = 10
/** Rotations are bounded likewise: who took each secret is kept for good. */
const ROTATIONS_PER_LIVE_KEY = 10

export function newInstance(config: Config, keyring: Keyring, resolve: Resolve): Instance {
  return {
    keyring,
    permissions: allPermissions(config.EXTRA_PERMISSIONS),
    keyPrefix: config.KEY_PREFIX,
    maxKeysPerStore: config.MAX_KEYS_PER_STORE,
    maxNewKeysPerDay: NEW_KEYS_PER_LIVE_KEY * config.MAX_KEYS_PER_STORE,
    maxRotationsPerDay: ROTATIONS_PER_LIVE_KEY * config.MAX_KEYS_PER_STORE,
    maxAddressesPerUser: config.MAX_ADDRESSES_PER_USER,
    maxStoresPerUser: config.MAX_STORES_PER_USER,
    maxInvitationsPerStore: config.MAX_INVITATIONS_PER_STORE,
    maxCustomersPerStore: config.MAX_CUSTOMERS_PER_STORE,
    maxWebhooksPerStore: config.MAX_WEBHOOKS_PER_STORE,
    maxSessionsPerUser: config.MAX_SESSIONS_PER_USER,
    maxVersionsPerDay: config.MAX_VERSIONS_PER_DAY,
    signUp: config.SIGN_UP,
    name: config.SERVICE_NAME,
    publicUrl: config.PUBLIC_URL,
    mail: config.SMTP_URL !== null,
    oidc: config.OIDC_ISSUER !== null,
    webhooks: { allowPrivate: config.WEBHOOK_ALLOW_PRIVATE === 'on', resolve },
  }
}
