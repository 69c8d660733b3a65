// Who is signed in, and what they may do in a store.

import type { Me } from '@storekeeper/client'
import { useRead } from './api.ts'
import { readMe } from './client.ts'
import { earlyMe } from './early.ts'

export type Membership = Me['stores'][number]

export function useMe() {
  return useRead(['me'], (options) => earlyMe() ?? readMe(options))
}

/** Undefined while it is being read, and for a store that the user has no part in. */
export function useMembership(storeId: string): Membership | undefined {
  return useMe().data?.stores.find(({ store }) => store.id === storeId)
}

/** Whether the signed-in user holds a permission in the store; `OWNER` asks for the role. */
export function useMay(storeId: string): (permission: string) => boolean {
  const membership = useMembership(storeId)
  return (permission) =>
    permission === 'OWNER' ? membership?.role === 'OWNER' : (membership?.permissions.includes(permission) ?? false)
}
