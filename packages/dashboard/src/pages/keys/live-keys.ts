import type { CallOptions, Key } from '@storekeeper/client'
import { sk } from '../../app/client.ts'

/** More live keys than a store has unless its operator says so; the list says when there are more. */
export const MAX_LISTED = 1_000

/** All keys that work or can be made to work again, the newest first. */
export async function readLiveKeys(storeId: string, options?: CallOptions): Promise<Key[]> {
  const { keys } = sk.store(storeId)
  const [active, disabled] = await Promise.all(
    (['ACTIVE', 'DISABLED'] as const).map((status) => keys.list({ status }, options).toArray({ max: MAX_LISTED })),
  )
  return [...(active ?? []), ...(disabled ?? [])].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
}
