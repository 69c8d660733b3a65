// The stream of changes that one back end follows, as text. It waits without a timer of its own, until it is woken.

import type { ChangesRequest, KeyChanges } from './schema.ts'

export async function* streamChanges(
  changes: KeyChanges,
  request: ChangesRequest,
  closing: AbortSignal,
): AsyncGenerator<string> {
  let isWoken = false
  let resume = () => {}
  const wake = () => {
    isWoken = true
    resume()
  }
  const subscriber = changes.join(request, wake)
  if (!subscriber) return
  closing.addEventListener('abort', wake)
  try {
    for (;;) {
      isWoken = false
      const text = changes.take(subscriber)
      if (text === null) return
      if (closing.aborted || performance.now() > subscriber.endsAt) {
        yield text + changes.bye(subscriber)
        return
      }
      if (text !== '') yield text
      if (!isWoken)
        await new Promise<void>((resolve) => {
          resume = resolve
        })
    }
  } finally {
    closing.removeEventListener('abort', wake)
    changes.leave(subscriber)
  }
}
