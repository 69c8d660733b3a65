// Questions to the service that are under way: a hundred at most, and of each secret one that others wait for.

import { StorekeeperError } from '../error.ts'

const MAX_UNDER_WAY = 100
const MAX_WAITING = 1_000
const MAX_WAIT_MS = 2_000

export type Asking = {
  /** By hash: the question that others wait for. It never rejects. */
  underWay: Map<string, Promise<void>>
  take<Answer>(hash: string, maxWaitMs: number | undefined, ask: () => Promise<Answer>): Promise<Answer>
}

export function newAsking(): Asking {
  const underWay = new Map<string, Promise<void>>()
  const waiting: (() => void)[] = []
  let count = 0

  async function inTurn<Answer>(maxWaitMs: number, ask: () => Promise<Answer>): Promise<Answer> {
    if (count >= MAX_UNDER_WAY) {
      if (waiting.length >= MAX_WAITING) throw tooMany()
      const since = performance.now()
      await new Promise<void>((resolve) => waiting.push(resolve))
      // Whoever waited for too long goes without having asked, so that the next can.
      if (performance.now() - since > maxWaitMs) {
        waiting.shift()?.()
        throw tooMany()
      }
    }
    count += 1
    try {
      return await ask()
    } finally {
      count -= 1
      waiting.shift()?.()
    }
  }

  return {
    underWay,
    take(hash, maxWaitMs = MAX_WAIT_MS, ask) {
      const answer = inTurn(maxWaitMs, ask)
      const settled: Promise<void> = answer.then(forget, forget)
      function forget() {
        if (underWay.get(hash) === settled) underWay.delete(hash)
      }
      if (!underWay.has(hash)) underWay.set(hash, settled)
      return answer
    },
  }
}

function tooMany(): StorekeeperError {
  return new StorekeeperError('unavailable', 'Too many keys are being asked for at this moment.', {
    status: 503,
    retryAfter: 1,
  })
}
