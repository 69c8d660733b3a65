// Whom a request counts for, and whether there is room for it: an address while its caller is looked up, then the caller's tenant
// (limits/tenant-shares.ts).

import { siteOf } from '../auth/ip.ts'
import { fail } from '../core/errors.ts'
import type { Call, Incoming, Pipeline } from './context.ts'
import { tenantOf } from './holders.ts'

export function failShareFull(): never {
  const detail =
    'Too many of your requests are in progress at once. Send fewer at a time, or wait before you send more.'
  return fail('rate_limited', { retryAfterSeconds: 1, detail })
}

/**
 * Finds out who is calling. That may take seconds, such as while an identity provider does not answer: so an address has at
 * most two thirds of these, too.
 */
export async function identifying<T>(
  { limits }: Pipeline,
  { ip, ticket }: Incoming,
  run: () => Promise<T>,
): Promise<T> {
  const site = siteOf(ip)
  const leave = limits.identifying.enter(site, site)
  if (leave === null) return failShareFull()
  ticket?.park()
  return run().finally(leave)
}

/**
 * Begins a request, unless its tenant has so many under way that others would find no room. The operator's back ends have no
 * such bound. Before it is begun it does not count as in flight: to find out whom it counts for, and to refuse it, takes
 * nobody's room.
 */
export async function inShare<T>({ limits }: Pipeline, call: Call, run: () => Promise<T>): Promise<T> {
  const { incoming, caller, account } = call
  const isOperators = caller?.kind === 'service' && caller.createdBy === null
  const leave = isOperators ? () => {} : limits.shares.enter(tenantOf(account), account)
  if (leave === null) return failShareFull()
  incoming.ticket?.unpark()
  return run().finally(leave)
}
