// How often a node asks its database on behalf of requests. What it does by itself, whether anybody calls or not (sealing
// events, looking for messages to send), is told apart by the file that asks.

import { vi } from 'vitest'
import type { Service } from '../src/service.ts'

const BY_ITSELF = /\/src\/(events\/seal|webhooks\/(dispatch|queue))\.ts/
const WAYS = ['query', 'one', 'transaction', 'batched'] as const
type Way = (typeof WAYS)[number]

/** Counts from now on: all of them, or those that were asked in one way. */
export function questionsAt({ db }: Service): (way?: Way) => number {
  const asked: Way[] = []
  for (const way of WAYS) {
    const ask = db[way].bind(db) as (...given: unknown[]) => never
    vi.spyOn(db, way).mockImplementation((...given: unknown[]) => {
      if (!BY_ITSELF.test(new Error().stack ?? '')) asked.push(way)
      return ask(...given)
    })
  }
  return (way) => asked.filter((one) => way === undefined || one === way).length
}
