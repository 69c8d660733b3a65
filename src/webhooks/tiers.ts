// Requests to webhooks by how long they take. A request that gets older than its tier allows moves to the next, whether there is
// room or not. So whoever has many webhooks that never answer can fill a slower tier, for as long as these wait for answers:
// an account that has no request there gets a place all the same.

import { type OfAccount, Waitlist } from '../limits/waitlist.ts'

/**
 * How long a request counts in a tier, how many requests there may be in it, how many of them to one webhook that answered
 * well the last time (to any other, one), and how many more of its messages wait in memory. A request that waits for its
 * answer costs a connection and little more.
 */
const TIERS = [
  { untilMs: 250, capacity: 200, perEndpoint: 4, prefetch: 200 },
  { untilMs: 2_000, capacity: 500, perEndpoint: 4, prefetch: 8 },
  { untilMs: Number.POSITIVE_INFINITY, capacity: 500, perEndpoint: 1, prefetch: 1 },
] as const

/** A queue that found no capacity stands in the waitlist, and is admitted for one message at a time. */
export type Tier<Q extends OfAccount> = (typeof TIERS)[number] & {
  index: number
  inFlight: number
  inFlightOf: Map<string, number>
  waitlist: Waitlist<Q>
}

export function newTiers<Q extends OfAccount>(): Tier<Q>[] {
  return TIERS.map((tier, index) => {
    return { ...tier, index, inFlight: 0, inFlightOf: new Map<string, number>(), waitlist: new Waitlist<Q>() }
  })
}

export function enter<Q extends OfAccount>(tier: Tier<Q>, account: string): void {
  tier.inFlight += 1
  tier.inFlightOf.set(account, (tier.inFlightOf.get(account) ?? 0) + 1)
}

export function leave<Q extends OfAccount>(tier: Tier<Q>, account: string): void {
  tier.inFlight -= 1
  const own = (tier.inFlightOf.get(account) ?? 0) - 1
  if (own > 0) tier.inFlightOf.set(account, own)
  else tier.inFlightOf.delete(account)
}

export function hasRoom<Q extends OfAccount>(tier: Tier<Q>, account: string): boolean {
  if (tier.inFlight < tier.capacity) return true
  return tier.index > 0 && tier.inFlightOf.size < tier.capacity && !tier.inFlightOf.has(account)
}

/** The next account in the waitlist that there is room for. */
export function nextWithRoom<Q extends OfAccount>(tier: Tier<Q>): string | undefined {
  for (const account of tier.waitlist.accounts()) if (hasRoom(tier, account)) return account
  return undefined
}
