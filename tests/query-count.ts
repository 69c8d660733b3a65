// How often a node asks its database on behalf of requests. What it does by itself, whether anybody calls or not (sealing
// events, looking for messages to send), goes through another object than the service's `db` (see service.ts), so it is
// never counted.

import { vi } from 'vitest'
import type { Service } from '../src/service.ts'

const WAYS = ['query', 'one', 'transaction', 'batched'] as const
type Way = (typeof WAYS)[number]

/** Counts from now on: all of them, or those that were asked in one way. */
export function countQueries({ db }: Service): (way?: Way) => number {
  const spies = WAYS.map((way) => [way, vi.spyOn(db, way)] as const)
  return (way) =>
    spies.reduce((sum, [each, { mock }]) => (way === undefined || each === way ? sum + mock.calls.length : sum), 0)
}
