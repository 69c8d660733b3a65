// What a credential makes never outreaches the credential. A key may be bound by an end, by addresses, by rate limits and by
// credits; what it gives must be bound at least as tightly, or it could shed its bounds by way of others. So it creates,
// changes and rotates only keys that are bound as it is, and gives nothing to people and webhooks, which have no such bounds.
// People's own credentials are not bound. (Permissions are the grant ceiling's: see core/grant.ts.)

import type { Manager } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import { missingPermissions, type Permission, ROLES, type Role } from '../core/permissions.ts'
import type { Credits, NamedRateLimit } from '../keys/schema.ts'
import { rangesWithin } from './ip.ts'

export type Bounds = {
  expiresAt: Date | null
  ipAllowlist: readonly string[] | null
  rateLimit: RateLimit | null
  rateLimits: readonly NamedRateLimit[]
  /** Whose keys share the limits that are shared by owner. */
  owner: string | null
  hasCredits: boolean
  /** Of a giver that has credits: read before it gives something (keys/credits.ts). Nothing is given without. */
  credits?: Credits | null
}

type RateLimit = { limit: number; windowSeconds: number }
type Rights = { role: Role; permissions: readonly Permission[] }

/** What is granted: a key with these bounds, a member's rights in place of those before (null: none), or a webhook. */
export type Grant = { key: Bounds } | { member: Rights; before: Rights | null } | 'webhook'

/** Fails when what the caller grants exceeds the bounds of the key they use. */
export function checkBounds(caller: Manager, grant: Grant): void {
  const detail = caller.kind === 'key' ? exceededBound(caller, grant) : null
  if (detail !== null) fail('cannot_grant', { detail, members: { permissions: [] } })
}

/** Which bound of the key the grant exceeds, and what to do instead; null when it exceeds none. */
export function exceededBound(giver: Bounds, grant: Grant): string | null {
  const binding = BOUNDS.filter(({ words }) => words(giver) !== null)
  if (binding.length === 0) return null
  const giverWords = binding.map(({ words }) => words(giver)).join(', ')
  const instead = 'Use a session, or a key without an end, an allow-list, rate limits and credits.'
  if (grant === 'webhook')
    return `The key you use ${giverWords}. A webhook would go on without that, so such a key makes, changes and rotates none. ${instead}`
  if ('member' in grant)
    return isRaise(grant.before, grant.member)
      ? `The key you use ${giverWords}. A member would not be bound by that, so such a key makes nobody more than a CUSTOMER without permissions. ${instead}`
      : null
  const broken = binding.find(({ holds }) => !holds(giver, grant.key))
  return broken ? `The key you use ${broken.words(giver)}: it gives nothing to ${broken.advice}` : null
}

/** A role higher up, or a permission more. */
function isRaise(before: Rights | null, after: Rights): boolean {
  const { role, permissions } = before ?? { role: 'CUSTOMER' as const, permissions: [] }
  return (
    ROLES.indexOf(after.role) < ROLES.indexOf(role) || missingPermissions(permissions, after.permissions).length > 0
  )
}

type Bound = {
  /** How it binds a key; null when it does not. */
  words(key: Bounds): string | null
  /** Whether it binds the key that is given something as tightly as the giver, whom it binds. */
  holds(giver: Bounds, key: Bounds): boolean
  advice: string
}

const BOUNDS: Bound[] = [
  {
    words: ({ expiresAt }) => expiresAt && `ends at ${expiresAt.toISOString()}`,
    holds: (giver, { expiresAt }) => expiresAt !== null && giver.expiresAt !== null && expiresAt <= giver.expiresAt,
    advice:
      'a key that ends later or never. Set "expiresAt" to that moment or an earlier one, or use a credential that lasts longer.',
  },
  {
    words: ({ ipAllowlist }) => ipAllowlist && `works from ${rangesInWords(ipAllowlist)} only`,
    holds: (giver, { ipAllowlist }) => ipAllowlist !== null && rangesWithin(giver.ipAllowlist ?? [], ipAllowlist),
    advice:
      'a key that works from elsewhere. Set "ipAllowlist" to ranges within these, or use a credential without an allow-list.',
  },
  {
    words: ({ rateLimit }) => rateLimit && `has a rate limit of ${rateLimit.limit} in ${rateLimit.windowSeconds} s`,
    holds: ({ rateLimit: limit }, { rateLimit }) => limit !== null && rateLimit !== null && isWithin(limit, rateLimit),
    advice:
      'a key that may be used more often. Set "rateLimit" to at most as many in at least as long, or use a credential without a rate limit.',
  },
  {
    words: ({ rateLimits }) =>
      rateLimits.length === 0 ? null : `has the rate limits ${rateLimits.map(({ name }) => name).join(', ')}`,
    holds: (giver, key) =>
      giver.rateLimits.every((limit) => key.rateLimits.some((own) => binds(giver, limit, key, own))),
    advice:
      'a key without them. Set "rateLimits" to limits with the same names, each with at most as many in at least as long, and with the same owner where they are shared; or use a credential without rate limits.',
  },
  {
    words: ({ hasCredits }) => (hasCredits ? 'has credits' : null),
    holds: ({ credits }, key) => isAfforded(credits ?? null, key.credits ?? null),
    advice:
      'a key with more. Set "credits" to at most what this key has left, with at most as large and as frequent a refill; or use a credential without credits.',
  },
]

const MAX_RANGES_IN_WORDS = 5

function rangesInWords(ranges: readonly string[]): string {
  const more = ranges.length - MAX_RANGES_IN_WORDS
  return `${ranges.slice(0, MAX_RANGES_IN_WORDS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** At most as many in a window at least as long: then neither the sum nor a burst is ever more. */
function isWithin(giver: RateLimit, key: RateLimit): boolean {
  return key.limit <= giver.limit && key.windowSeconds >= giver.windowSeconds
}

/** A limit that the giver shares with others has to be shared with the same ones. */
function binds(giver: Bounds, limit: NamedRateLimit, key: Bounds, own: NamedRateLimit): boolean {
  if (own.name !== limit.name || !isWithin(limit, own)) return false
  return (
    limit.shared !== 'owner' ||
    (own.shared === 'owner' && own.windowSeconds === limit.windowSeconds && key.owner === giver.owner)
  )
}

const INTERVALS = ['HOUR', 'DAY', 'MONTH']

function isAfforded(giver: Credits | null, key: Credits | null): boolean {
  if (giver === null || key === null || key.remaining > giver.remaining) return false
  if (!key.refill) return true
  return (
    !!giver.refill &&
    key.refill.amount <= giver.refill.amount &&
    INTERVALS.indexOf(key.refill.interval) >= INTERVALS.indexOf(giver.refill.interval)
  )
}
