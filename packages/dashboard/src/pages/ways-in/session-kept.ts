import type { Me } from '@storekeeper/client'
import { sk } from '../../app/api.ts'
import { queryClient } from '../../app/query.ts'

/**
 * Who is signed in, after a sign-in that succeeded. Null: the browser has dropped the cookie, as it does without a word with
 * a secure cookie on plain HTTP.
 */
export async function readSession(): Promise<Me | null> {
  queryClient.removeQueries({ queryKey: ['me'] })
  const me = await sk.user.read().catch(() => null)
  if (me) queryClient.setQueryData(['me'], me)
  return me
}
