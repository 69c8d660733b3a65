import { isSessionEnded, sk } from './client.ts'
import { startAnew } from './known-user.ts'
import { paths } from './paths.ts'
import { announce } from './session.ts'

/** The page is loaded anew, so that everything it does ends: timers, jobs of many calls, calls that wait to be repeated. */
export async function signOut(): Promise<void> {
  await sk.auth.signOut().catch((error: unknown) => {
    // A session that has ended needs no end.
    if (!isSessionEnded(error)) throw error
  })
  announce({ is: 'signed out' })
  startAnew({ at: paths.signIn })
}
