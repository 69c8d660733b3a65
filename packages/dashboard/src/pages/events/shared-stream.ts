// The events of a store as they happen, over one stream for all tabs of this browser. The tab that holds a lock follows the
// events and tells the others; when it is closed or hidden, the lock goes to the next. A hidden tab follows nothing.

import type { Event } from '@storekeeper/client'
import { sk, withSession } from '../../app/client.ts'

type Listener = {
  /** The id of the newest event with a position that this tab knows: a stream begins after it. */
  after: () => string | undefined
  onEvent: (event: Event) => void
  /** This tab has joined, or came back, and hears of everything from now on. Resolves when it has read what was before. */
  onJoined: () => Promise<void>
  onFailed: (error: unknown) => void
}

/** Listens while the page is visible, until the function that it returns is called. */
export function followTogether(storeId: string, userId: string, listener: Listener): () => void {
  const name = `storekeeper.events.${userId}.${storeId}`
  let leave: (() => void) | null = null
  const change = () => {
    if (document.hidden) {
      leave?.()
      leave = null
    } else leave ??= join(name, storeId, listener)
  }
  change()
  document.addEventListener('visibilitychange', change)
  return () => {
    document.removeEventListener('visibilitychange', change)
    leave?.()
  }
}

function join(name: string, storeId: string, { after, onEvent, onJoined, onFailed }: Listener): () => void {
  const leaving = new AbortController()
  const { signal } = leaving
  const channel = new BroadcastChannel(name)
  channel.onmessage = ({ data }) => onEvent(data as Event)
  const joined = onJoined()
  const lead = async () => {
    await joined
    await withSession(async () => {
      for await (const event of sk.store(storeId).events.follow({ after: after() }, { signal })) {
        // A tab that has just left tells nobody.
        if (signal.aborted) return
        channel.postMessage(event)
        onEvent(event)
      }
    })
  }
  Promise.all([joined, navigator.locks.request(name, { signal }, lead)]).catch((error) => {
    if (!signal.aborted) onFailed(error)
  })
  return () => {
    leaving.abort()
    channel.close()
  }
}
