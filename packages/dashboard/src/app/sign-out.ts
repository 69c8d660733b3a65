import { isSessionEnded, sk } from './api.ts'
import { forgetStores } from './last-store.ts'
import { queryClient } from './query.ts'
import { notes } from './secrets.ts'

/** Leaves nothing of the account in this browser. */
export function forgetUser(): void {
  queryClient.clear()
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
