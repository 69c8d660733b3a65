// The ceiling of a key: a key that it creates, changes or rotates cannot outlive it, and cannot be used from addresses
// where it cannot be used itself. (Permissions are the grant ceiling's: see core/grant.ts.)

import type { Manager } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import { rangeWithin } from './ip.ts'

export function checkExpiryCeiling(caller: Manager, expiresAt: Date | null): void {
  if (caller.kind !== 'key' || caller.expiresAt === null) return
  if (expiresAt === null || expiresAt > caller.expiresAt)
    fail('cannot_grant', {
      detail: `The key you use ends at ${caller.expiresAt.toISOString()}: no other key can be given a longer life with it.`,
      members: { permissions: [] },
    })
}

export function checkIpCeiling(caller: Manager, allowlist: string[] | null): void {
  if (caller.kind !== 'key' || caller.ipAllowlist === null) return
  const own = caller.ipAllowlist
  if (allowlist === null || !allowlist.every((range) => rangeWithin(own, range)))
    fail('cannot_grant', {
      detail: `The key you use may be used from ${own.join(', ')} only: no other key can be opened wider with it.`,
      members: { permissions: [] },
    })
}
