// Verifying in the back end's own process, beside what it cannot be faster than: SHA-256 and a Map in the same process, in
// turn with it. Both run in slices of a few milliseconds, between which the event loop turns, as in a back end.

import { hash } from 'node:crypto'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { storekeeper } from '../packages/client/src/index.ts'
import { median } from './world.ts'

const SLICE_MS = 5

export type InProcess = {
  keys: number
  'verifications/s': number
  µs: number
  'limit/s': number
  'of the limit': number
  'from memory %': number
}

/** `answers` does one verification and says whether it was VALID. Seconds are those of the processor. */
async function perSecond(seconds: number, answers: (n: number) => boolean): Promise<{ rate: number; good: number }> {
  let [n, good, spent] = [0, 0, 0]
  while (spent < 1_000 * seconds) {
    const before = process.cpuUsage()
    const began = performance.now()
    while (performance.now() - began < SLICE_MS) for (const end = n + 500; n < end; n++) if (answers(n)) good += 1
    const { user, system } = process.cpuUsage(before)
    spent += (user + system) / 1_000
    await setImmediate()
  }
  return { rate: (1_000 * n) / spent, good: good / n }
}

function shuffled<T>(list: T[]): T[] {
  return list
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

export async function measureInProcess(
  url: string,
  token: string,
  keys: string[],
  seconds: number,
  rounds: number,
): Promise<InProcess> {
  const client = storekeeper({ url, token, inProcess: true })
  const verifier = client.verifier()
  const permissions = ['READ']
  const known = new Map(
    keys.map((key) => [hash('sha256', key, 'base64'), { key: key.length, permissions: ['READ', 'WRITE'] }]),
  )
  const count = keys.length
  // In the order of its insertion, the processor would find each row of a Map before it is asked for.
  const presented = shuffled(keys)
  const ours = (n: number) => verifier.now({ key: presented[n % count] as string, permissions }) !== null
  const limit = (n: number) => {
    const row = known.get(hash('sha256', presented[n % count] as string, 'base64'))
    return row !== undefined && permissions.every((permission) => row.permissions.includes(permission))
  }
  const askAll = async () => {
    for (let i = 0; i < count; i += 50) await Promise.all(keys.slice(i, i + 50).map((key) => verifier.verify({ key })))
  }
  await askAll()
  while (verifier.state !== 'covered') await sleep(10)
  // Once more: what was asked before the stream began is good for 1.5 s only.
  await sleep(2_000)
  await askAll()
  const results: { rate: number; good: number; limit: number }[] = []
  await perSecond(0.3, ours)
  for (let round = 0; round < rounds; round++) {
    const bound = await perSecond(seconds, limit)
    results.push({ ...(await perSecond(seconds, ours)), limit: bound.rate })
  }
  await client.close()
  const of = (pick: (result: (typeof results)[number]) => number) => median(results.map(pick))
  const rate = of((result) => result.rate)
  return {
    keys: count,
    'verifications/s': Math.round(rate),
    µs: Math.round(1e8 / rate) / 100,
    'limit/s': Math.round(of((result) => result.limit)),
    'of the limit': Math.round(100 * of((result) => result.rate / result.limit)) / 100,
    'from memory %': Math.round(1_000 * of(({ good }) => good)) / 10,
  }
}
