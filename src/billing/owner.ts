// Whose addresses are read or changed. That is not always the caller: a store keeps the addresses of its customers on their
// behalf, by its members and keys. The text is sealed under the owner's key in any case; events name the caller.

import type { WrappedKey } from '../auth/data-key.ts'
import type { UserCaller } from '../core/caller.ts'

export type AddressOwner = {
  user: WrappedKey
  /** The path of their addresses, as it is given in `Location`. */
  path: string
  /**
   * A customer of the store, whose addresses are changed by its managers, under the store's lock. Otherwise a member, who
   * changes their own.
   */
  onBehalf: boolean
}

export function ownAddresses(caller: UserCaller, storeId: string): AddressOwner {
  return { user: caller, path: `/v1/store/${storeId}/billing`, onBehalf: false }
}
