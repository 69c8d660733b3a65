// Who is signed in, and what they may do in a store.

import type { CallOptions, Me } from '@storekeeper/client'
import { preloadRead, type ReadKey, useRead } from './api.ts'
import { sk } from './client.ts'

export type Membership = Me['stores'][number]

const ME: ReadKey = ['me']
const readMe = (options: CallOptions) => sk.user.read(options)

export function useMe() {
  return useRead(ME, readMe)
}

export function preloadMe(): void {
  preloadRead(ME, readMe)
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
