// The grant ceiling: nobody, user or key, gives a permission they do not hold.

import { held, type KeyCaller, type UserCaller } from './caller.ts'
import { type Fault, fail } from './errors.ts'
import { missingFrom, type Permission } from './permissions.ts'

export function checkGrant(caller: UserCaller | KeyCaller, wanted: readonly Permission[]): void {
  const lacking = missingFrom(held(caller), wanted)
  if (lacking.length > 0)
    fail('cannot_grant', {
      detail: `You cannot give ${lacking.join(', ')}, because you do not hold ${lacking.length > 1 ? 'them' : 'it'} in this store.`,
      members: { permissions: lacking },
    })
}

/** Each must be in the catalogue. */
export function readPermissions(all: readonly Permission[], given: readonly string[], faults: Fault[]): Permission[] {
  given.forEach((permission, i) => {
    if (!all.includes(permission))
      faults.push({
        pointer: `#/permissions/${i}`,
        code: 'unknown_permission',
        detail: `There is no such permission. There are ${all.join(', ')}.`,
        example: 'READ',
      })
  })
  return [...given]
}
