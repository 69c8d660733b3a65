// The service, as the pages call it. A call that finds the session ended waits until somebody has signed in again, above
// the page, and is then repeated as it was: nothing typed is lost.

import {
  type CallOptions,
  isStorekeeperError,
  type Me,
  type Settings,
  type Storekeeper,
  storekeeper,
} from '@storekeeper/client'
import { useEffect, useState } from 'react'
import { fetchForUser, heardSignOuts, knowUser } from './known-user.ts'
import { signInAgain } from './session.ts'

/** The session is in a cookie that no script can read. */
export const sk: Storekeeper = storekeeper({ url: location.origin, fetch: fetchForUser })

/** Who is signed in. From then on it is known whose page this is. */
export async function readMe(options?: CallOptions): Promise<Me> {
  const heard = heardSignOuts()
  const me = await sk.user.read(options)
  knowUser(me.user.id, heard)
  return me
}

/** Repeats a call for which somebody had to sign in again. */
export async function withSession<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (isStorekeeperError(error, 'recent_sign_in_required')) await signInAgain('recent')
      else if (isSessionEnded(error)) await signInAgain('ended')
      else throw error
    }
  }
}

/** Not every 401: a wrong password has one too. */
export function isSessionEnded(error: unknown): boolean {
  return isStorekeeperError(error, 'unauthenticated') || isStorekeeperError(error, 'invalid_token')
}

let settings: Promise<Settings> | undefined

/** What the operator has set, which stays while the page is open. Undefined until it is read. */
export function useSettings(): Settings | undefined {
  const [read, setRead] = useState<Settings>()
  useEffect(() => {
    settings ??= sk.settings.read()
    settings.then(setRead, () => {
      settings = undefined
    })
  }, [])
  return read
}
