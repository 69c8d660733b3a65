import { forgetStores } from './last-store.ts'
import { giveUpSignIn, userChanged } from './session.ts'

/**
 * Leaves nothing of the account in this browser, except notes of secrets that were never confirmed: after the next sign-in
 * they say what was made. They hold no secret, and end after an hour.
 */
export function forgetUser(): void {
  // A read that was under way when the session ended may have asked for a new sign-in.
  giveUpSignIn()
  userChanged()
  forgetStores()
  sessionStorage.clear()
}
