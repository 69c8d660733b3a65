import { isSessionEnded, sk } from './client.ts'
import { forgetStores } from './last-store.ts'
import { notes } from './secrets.ts'
import { userChanged } from './session.ts'

/** Leaves nothing of the account in this browser. */
export function forgetUser(): void {
  userChanged()
  forgetStores()
  notes.clear()
  sessionStorage.clear()
}

export async function signOut(): Promise<void> {
  await sk.auth.signOut().catch((error: unknown) => {
    // A session that has ended needs no end.
    if (!isSessionEnded(error)) throw error
  })
  forgetUser()
}
