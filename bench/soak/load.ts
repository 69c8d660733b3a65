// The mix of operations: without pause, to see what can be sustained, and then paced, whatever the answers take.

import { setTimeout as sleep } from 'node:timers/promises'
import {
  addCredits,
  createKey,
  freezeKeys,
  KEYS_PER_STORE,
  listKeys,
  pick,
  readKey,
  revokeKey,
  rotateKey,
  type Soak,
  updateKey,
  verifyFormer,
  verifyKey,
} from './key-operations.ts'
import { changeAddresses, changeCustomers, changeWebhook, listAddresses, readTrail } from './other-operations.ts'

/** Shares of all operations. */
const MIX: [number, (soak: Soak) => Promise<boolean>][] = [
  [60, verifyKey],
  [6, verifyFormer],
  [5, readKey],
  [2, listKeys],
  [4, balanceKeys],
  [4, updateKey],
  [2, rotateKey],
  [2, addCredits],
  [0.05, freezeKeys],
  [6, changeAddresses],
  [3, listAddresses],
  [2, changeCustomers],
  [0.2, changeWebhook],
  [2, readTrail],
]
const TOTAL = MIX.reduce((sum, [share]) => sum + share, 0)

const ABREAST = 32
const MAX_ABREAST = 500
const TICK_MS = 10

/** Creates or revokes one, so that their number stays about the same. */
async function balanceKeys(soak: Soak): Promise<boolean> {
  const store = pick(soak, soak.stores)
  return soak.next() * 2 * KEYS_PER_STORE > store.keys.size ? createKey(soak, store) : revokeKey(soak)
}

function operate(soak: Soak): Promise<boolean> {
  let chance = soak.next() * TOTAL
  return (MIX.find(([share]) => (chance -= share) < 0) ?? MIX[0])?.[1](soak) as Promise<boolean>
}

/** Operations in a second, without pause. */
export async function sustainable(soak: Soak, seconds: number): Promise<number> {
  const began = performance.now()
  let done = 0
  const loop = async () => {
    while (performance.now() - began < seconds * 1_000) if (await operate(soak)) done += 1
  }
  await Promise.all(Array.from({ length: ABREAST }, loop))
  return done / ((performance.now() - began) / 1_000)
}

export type Paced = {
  /** What was done since the last call, and what was not begun since too much waited for an answer. */
  take(): { operations: number; skipped: number; abreast: number }
  /** Nothing is begun, and what was begun is done. */
  pause(): Promise<void>
  resume(): void
  stop(): Promise<void>
}

export function startPaced(soak: Soak, perSecond: number): Paced {
  let [operations, skipped, abreast, due] = [0, 0, 0, 0]
  let isPaused = false
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    due += isPaused ? 0 : ((now - last) / 1_000) * perSecond
    last = now
    for (; due >= 1; due--) {
      if (abreast >= MAX_ABREAST) skipped += 1
      else void begin()
    }
  }, TICK_MS)
  const begin = async () => {
    abreast += 1
    try {
      // Where all that was picked is being worked on, another is begun instead.
      for (let n = 0; n < 5; n++) if (await operate(soak)) break
      operations += 1
    } catch (error) {
      soak.client.complain(`an operation failed: ${(error as Error).stack}`)
    } finally {
      abreast -= 1
    }
  }
  const pause = async () => {
    isPaused = true
    while (abreast > 0) await sleep(20)
  }
  return {
    take() {
      const taken = { operations, skipped, abreast }
      operations = skipped = 0
      return taken
    },
    pause,
    resume() {
      isPaused = false
    },
    async stop() {
      await pause()
      clearInterval(timer)
    },
  }
}
