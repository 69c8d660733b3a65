// The catalogue of permissions, and the permissions of each role. The grant ceiling (grant.ts) stands above both.

export const BUILT_IN_PERMISSIONS = [
  'READ',
  'WRITE',
  'MANAGE_PRODUCTS',
  'MANAGE_ORDERS',
  'MANAGE_KEYS',
  'MANAGE_MEMBERS',
  'MANAGE_CUSTOMERS',
  'MANAGE_WEBHOOKS',
  'MANAGE_STORE',
  'VIEW_EVENTS',
] as const

export const PERMISSION_DESCRIPTIONS: Record<BuiltInPermission, string> = {
  READ: "Read the store, its members and its users' billing addresses.",
  WRITE: 'Write to the store. What that includes is up to the back ends that verify keys.',
  MANAGE_PRODUCTS: 'Manage products. What that includes is up to the back ends that verify keys.',
  MANAGE_ORDERS:
    'Put versions of billing addresses on hold, and manage orders as far as the back ends that verify keys offer it.',
  MANAGE_KEYS: 'Create, change, rotate and revoke API keys.',
  MANAGE_MEMBERS: 'Invite, change and remove members.',
  MANAGE_CUSTOMERS: "Manage the store's customers and, on their behalf, their billing addresses.",
  MANAGE_WEBHOOKS: 'Create, change and delete webhooks, and see what was sent.',
  MANAGE_STORE: "Change the store's settings.",
  VIEW_EVENTS: 'Read and follow the audit trail.',
}

export type BuiltInPermission = (typeof BUILT_IN_PERMISSIONS)[number]
/** A built-in permission, or one that the operator added in EXTRA_PERMISSIONS. */
export type Permission = string

export const PERMISSION_PATTERN = /^[A-Z][A-Z0-9_]{1,62}$/

export const ROLES = ['OWNER', 'MANAGER', 'STAFF', 'CUSTOMER'] as const
export type Role = (typeof ROLES)[number]

const ROLE_PERMISSIONS: Record<Exclude<Role, 'OWNER'>, BuiltInPermission[]> = {
  MANAGER: [
    'READ',
    'WRITE',
    'MANAGE_PRODUCTS',
    'MANAGE_ORDERS',
    'MANAGE_KEYS',
    'MANAGE_MEMBERS',
    'MANAGE_CUSTOMERS',
    'MANAGE_WEBHOOKS',
    'VIEW_EVENTS',
  ],
  STAFF: ['READ', 'WRITE'],
  CUSTOMER: [],
}

export function allPermissions(extra: readonly Permission[]): Permission[] {
  return [...new Set<Permission>([...BUILT_IN_PERMISSIONS, ...extra])]
}

/** An owner holds everything, always. Others hold what was set for them, or else what their role brings. */
export function permissionsOf(all: readonly Permission[], role: Role, own: readonly Permission[] | null): Permission[] {
  if (role === 'OWNER') return [...all]
  return inCatalogueOrder(all, own ?? ROLE_PERMISSIONS[role])
}

/** In the catalogue's order. A permission that the operator removed from the catalogue counts for no one. */
export function inCatalogueOrder(all: readonly Permission[], some: readonly Permission[]): Permission[] {
  return all.filter((permission) => some.includes(permission))
}

export function missingPermissions(held: readonly Permission[], wanted: readonly Permission[]): Permission[] {
  return wanted.filter((permission) => !held.includes(permission))
}
