import { forgetStores } from './last-store.ts'
import { dropLinkToken } from './link-token.ts'
import { giveUpSignIn, userChanged } from './session.ts'

/**
 * Leaves nothing of the account in this browser, except notes of secrets that were never confirmed: after the next sign-in
 * they say what was made. They hold no secret, and end after an hour.
 * The token of a mailed link goes too, unless the same person goes on with it in another account.
 */
export function forgetUser({ keepsLink = false }: { keepsLink?: boolean } = {}): void {
  // A read that was under way when the session ended may have asked for a new sign-in.
  giveUpSignIn()
  userChanged()
  forgetStores()
  sessionStorage.clear()
  if (!keepsLink) dropLinkToken()
}
