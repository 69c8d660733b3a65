// The grant ceiling: no caller, user or key, grants a permission it does not hold.

import { heldPermissions, type Manager } from './caller.ts'
import { type Fault, fail } from './errors.ts'
import { missingPermissions, type Permission, type Role } from './permissions.ts'
import { suggestWord } from './suggest.ts'

/**
 * Holding every permission does not make an owner: an owner also holds permissions added later, and one always remains.
 */
export function isOwner(caller: Manager): boolean {
  return caller.kind === 'user' && caller.member?.role === 'OWNER'
}

export const OWNER_HOLDS_ALL: Fault = {
  pointer: '#/permissions',
  code: 'owner_holds_all',
  detail: 'An owner always has every permission. Leave the permissions out, or choose another role.',
}

/** `role` is the role the permissions come with, if any: only an owner makes another owner. */
export function checkGrant(caller: Manager, wanted: readonly Permission[], role?: Role): void {
  const lacking = missingPermissions(heldPermissions(caller), wanted)
  if (lacking.length > 0)
    fail('cannot_grant', {
      detail: `You can't grant ${lacking.join(', ')}, because you don't have ${lacking.length > 1 ? 'them' : 'it'} in this store.`,
      members: { permissions: lacking },
    })
  if (role === 'OWNER' && !isOwner(caller))
    fail('cannot_grant', { detail: 'Only an owner can make somebody else an owner.', members: { permissions: [] } })
}

export function checkHolds(caller: Manager, needed: Permission): void {
  if (!heldPermissions(caller).includes(needed))
    fail('insufficient_permission', {
      required: [needed],
      detail: `This requires the permission ${needed}, which you don't have in this store.`,
    })
}

/** Reports each permission that is not in the catalogue. */
export function parsePermissions(
  all: readonly Permission[],
  given: readonly string[],
  faults: Fault[],
  member = 'permissions',
): Permission[] {
  given.forEach((permission, i) => {
    if (all.includes(permission)) return
    const meant = suggestWord(permission, all)
    faults.push({
      pointer: `#/${member}/${i}`,
      code: 'unknown_permission',
      detail: `Unknown permission. ${meant ? `Did you mean ${meant}?` : `Use one of ${all.join(', ')}.`}`,
      example: meant ?? 'READ',
      ...(meant === undefined ? {} : { suggestion: meant }),
    })
  })
  return [...given]
}
