// What the first page needs of the service is asked for while its scripts are still on their way. Each answer is taken once,
// by the first read of it.

import type { Me } from '@storekeeper/client'
import { readLiveKeys } from '../pages/keys/live-keys.ts'
import { readMe } from './client.ts'
import { paths } from './paths.ts'

/** An answer that nobody took within this time is read anew. */
const FRESH_MS = 5_000

function takenOnce<T>(answer: Promise<T>): () => Promise<T> | undefined {
  const askedAt = performance.now()
  let waiting: Promise<T> | undefined = answer
  // Whoever takes it is told of a failure.
  answer.catch(() => {})
  return () => {
    const taken = waiting
    waiting = undefined
    return performance.now() - askedAt < FRESH_MS ? taken : undefined
  }
}

const { pathname } = location
const [, keysOf] = /^\/stores\/(store_[^/]+)\/keys$/.exec(pathname) ?? []

export const earlyMe: () => Promise<Me> | undefined = pathname === paths.erased ? () => undefined : takenOnce(readMe())
const keys = keysOf === undefined ? undefined : takenOnce(readLiveKeys(keysOf))
export const earlyKeys = (storeId: string) => (storeId === keysOf ? keys?.() : undefined)
