import type { Me } from '@storekeeper/client'
import { readMe } from '../../app/client.ts'
import { userChanged } from '../../app/session.ts'

/**
 * Who is signed in, after a sign-in that succeeded. Null: the browser has dropped the cookie, as it does without a word with
 * a secure cookie on plain HTTP.
 */
export function readSession(): Promise<Me | null> {
  userChanged()
  return readMe().catch(() => null)
}
