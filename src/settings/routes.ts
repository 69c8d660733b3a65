// What a client may know of an installation before anyone signs in, and the catalogue of permissions.

import { PERMISSION_DESCRIPTIONS, type Permission, permissionsOf, ROLES } from '../core/permissions.ts'
import { type Route, route } from '../core/route.ts'
import { VERSION } from '../core/version.ts'
import type { Instance } from '../instance.ts'
import { Permissions, Settings } from './schema.ts'

export const settingRoutes: Route[] = [
  route(
    {
      id: 'settings.read',
      method: 'GET',
      path: '/v1/settings',
      needs: 'public',
      summary: 'Read the settings',
      description: 'What a web page needs to know before anyone signs in.',
      returns: [200, Settings],
    },
    async ({ instance }) => ({ body: showSettings(instance) }),
  ),
  route(
    {
      id: 'permissions.list',
      method: 'GET',
      path: '/v1/permissions',
      needs: 'caller',
      summary: 'List the permissions',
      description:
        'Every permission, what it allows and which roles include it, including permissions the operator added.',
      returns: [200, Permissions],
    },
    async ({ instance }) => ({ body: { data: instance.permissions.map((name) => describe(instance, name)) } }),
  ),
]

function showSettings(instance: Instance) {
  return {
    version: VERSION,
    signUp: instance.signUp,
    keyPrefix: instance.keyPrefix,
    limits: {
      keysPerStore: instance.maxKeysPerStore,
      addressesPerUser: instance.maxAddressesPerUser,
      storesPerUser: instance.maxStoresPerUser,
      invitationsPerStore: instance.maxInvitationsPerStore,
      customersPerStore: instance.maxCustomersPerStore,
      webhooksPerStore: instance.maxWebhooksPerStore,
      sessionsPerUser: instance.maxSessionsPerUser,
      versionsPerDay: instance.maxVersionsPerDay,
    },
    mail: instance.mail,
    oidc: instance.oidc,
  }
}

function describe({ permissions }: Instance, permission: Permission) {
  return {
    permission,
    description: DESCRIPTIONS[permission] ?? 'Added by the operator of this installation.',
    roles: ROLES.filter((role) => permissionsOf(permissions, role, null).includes(permission)),
  }
}

const DESCRIPTIONS: Record<Permission, string> = PERMISSION_DESCRIPTIONS
