import { isSessionEnded, sk } from './client.ts'
import { forgetUser } from './forget-user.ts'
import { announce } from './session.ts'

export async function signOut(): Promise<void> {
  await sk.auth.signOut().catch((error: unknown) => {
    // A session that has ended needs no end.
    if (!isSessionEnded(error)) throw error
  })
  forgetUser()
  announce({ is: 'signed out' })
}
