// Checks of invitations and changes of members that a schema cannot express.

import { parseEmail } from '../core/email.ts'
import type { Fault } from '../core/errors.ts'
import { OWNER_HOLDS_ALL, parsePermissions } from '../core/grant.ts'
import { inCatalogueOrder, type Permission, type Role } from '../core/permissions.ts'
import type { Instance } from '../instance.ts'

/** The permissions somebody is to hold: a whole set (null: what the role brings), or what is added and removed. */
export type PermissionChange =
  | { permissions: Permission[] | null }
  | { addPermissions: Permission[]; removePermissions: Permission[] }

type GivenPermissions = {
  role?: Role
  permissions?: string[] | null
  addPermissions?: string[]
  removePermissions?: string[]
}

export type MemberPatch = { role?: Role; change?: PermissionChange }

export function parseMemberChanges(body: GivenPermissions, instance: Instance, faults: Fault[]): MemberPatch {
  const change = parsePermissionChange(body, instance, faults)
  return { ...(body.role === undefined ? {} : { role: body.role }), ...(change ? { change } : {}) }
}

export type InvitationSpec = { email: string; role: Role; change: PermissionChange }

export function parseNewInvitation(
  body: GivenPermissions & { email?: string },
  instance: Instance,
  faults: Fault[],
): InvitationSpec {
  return {
    email: parseEmail(body.email, faults),
    role: body.role ?? 'STAFF',
    change: parsePermissionChange(body, instance, faults) ?? { permissions: null },
  }
}

function parsePermissionChange(body: GivenPermissions, instance: Instance, faults: Fault[]): PermissionChange | null {
  const { role, permissions, addPermissions, removePermissions } = body
  const read = (name: keyof GivenPermissions, given: string[]) => {
    if (role === 'OWNER') faults.push({ ...OWNER_HOLDS_ALL, pointer: `#/${name}` })
    // The order they were sent in means nothing: the same permissions are no change.
    return inCatalogueOrder(instance.permissions, parsePermissions(instance.permissions, given, faults, name))
  }
  const isRelative = addPermissions !== undefined || removePermissions !== undefined
  if (permissions !== undefined && isRelative) faults.push(WHOLE_AND_RELATIVE)
  if (isRelative) {
    removePermissions?.forEach((permission, i) => {
      if (addPermissions?.includes(permission)) faults.push(addedAndRemoved(permission, i))
    })
    return {
      addPermissions: read('addPermissions', addPermissions ?? []),
      removePermissions: read('removePermissions', removePermissions ?? []),
    }
  }
  if (permissions === undefined) return null
  return { permissions: permissions && read('permissions', permissions) }
}

const WHOLE_AND_RELATIVE: Fault = {
  pointer: '#/permissions',
  code: 'contradiction',
  detail:
    '"permissions" is the whole set. Send either that, or "addPermissions" and "removePermissions", which change it.',
}

function addedAndRemoved(permission: string, i: number): Fault {
  return {
    pointer: `#/removePermissions/${i}`,
    code: 'contradiction',
    detail: `${permission} is also in "addPermissions". Leave it out of one of the two.`,
  }
}

/** What is held after the change by somebody who has held, or would by their role hold, `base`. */
export function applyPermissions(
  all: readonly Permission[],
  base: readonly Permission[],
  change: PermissionChange,
): Permission[] | null {
  if ('permissions' in change) return change.permissions
  const { addPermissions, removePermissions } = change
  return inCatalogueOrder(all, [...base, ...addPermissions]).filter(
    (permission) => !removePermissions.includes(permission),
  )
}
