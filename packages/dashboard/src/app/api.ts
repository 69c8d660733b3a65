// Every call of the pages goes through `useRead` and `useWrite`. A call that finds the session ended waits until somebody
// has signed in again, above the page, and is then repeated as it was: nothing typed is lost.

import { type CallOptions, isStorekeeperError, type Storekeeper, storekeeper } from '@storekeeper/client'
import { useRef } from 'react'
import { queryClient, type Read, type ReadKey, type ReadOptions, useMutation, useQuery } from './query.ts'
import { signInAgain } from './session.ts'

/** The session is in a cookie that no script can read. */
export const sk: Storekeeper = storekeeper({ url: location.origin })

export function useRead<T>(
  key: ReadKey,
  read: (options: CallOptions) => Promise<T>,
  options: ReadOptions = {},
): Read<T> {
  return useQuery<T>(key, (signal) => withSession(() => read({ signal })), options)
}

/**
 * `changes` names what has to be read again. While an answer is missing, the same input is sent with the same
 * `Idempotency-Key`, however often somebody clicks: it is done once.
 */
export function useWrite<Input, T>(
  write: (input: Input, options: CallOptions & { idempotencyKey: string }) => Promise<T>,
  { changes = [] }: { changes?: ReadKey[] } = {},
) {
  const unanswered = useRef<{ input: string; idempotencyKey: string } | null>(null)
  return useMutation(async (input: Input) => {
    const text = JSON.stringify(input) ?? ''
    if (unanswered.current?.input !== text) unanswered.current = { input: text, idempotencyKey: crypto.randomUUID() }
    const { idempotencyKey } = unanswered.current
    try {
      const answer = await withSession(() => write(input, { idempotencyKey }))
      unanswered.current = null
      await Promise.all(changes.map((queryKey) => queryClient.invalidateQueries({ queryKey })))
      return answer
    } catch (error) {
      if (isRefusal(error)) unanswered.current = null
      throw error
    }
  })
}

/** The service has said no: nothing was done. Without it something may have been. */
function isRefusal(error: unknown): boolean {
  const { status = 0 } = isStorekeeperError(error) ? error : {}
  return status >= 400 && status < 500
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
