// The rules of rights, by name, and the checks that several operations share. A rule can be switched off, so that a test
// can show which invariants need it. A check answers with the code of the refusal, or null.

import type { Role } from '../src/core/permissions.ts'
import {
  AS_TIGHT,
  type Bounds,
  boundsOf,
  type Credential,
  type Credits,
  covers,
  heldBy,
  heldByPerson,
  type Invitation,
  isAlive,
  isBound,
  isImported,
  isOwner,
  isReplaced,
  isSession,
  type Key,
  lastingBounds,
  nth,
  type Person,
  RECENT_SIGN_IN_SECONDS,
  rightsOf,
  type SecretOf,
  type SessionOf,
  type Store,
  verifies,
  type World,
} from './rights-model.ts'

export const RULES = [
  'an ended session or key does nothing',
  'a key works from its places only',
  'a permission is needed',
  'a replaced secret changes nothing',
  'nobody gives a permission they do not hold',
  'only an owner makes an owner',
  'a key that holds more is neither changed nor rotated',
  'a key does not change itself',
  'a key gives nothing to a key with a later end',
  'a key gives nothing to a key of more places',
  'a key gives nothing to a key with a higher rate limit',
  'a key gives nothing to a key with a higher named limit',
  'a key gives nothing to a key with more credits',
  'a key that is bound less is not changed',
  'an imported value only verifies',
  'a bulk change holds for each key what a change does',
  'an end that a leak brought forward does not count',
  'a bound key gives nothing to people',
  'a bound key gives nothing to webhooks',
  'a member who holds more is not changed',
  'the last owner stays',
  'an invitation is for one person',
  'an invitation gives no more than its maker may give',
  'an invitation is worth nothing when its maker is dead',
  'an invitation is worth nothing when its secret is replaced',
  'an invitation ends with the membership of its maker',
  'an invitation ends with a session that is ended for safety',
  'invitations to a member who falls are withdrawn',
  'an owner who is one no more is demoted',
  'whoever rotates a key takes its secret',
  'a secret taken with a secret is theirs too',
  'ending what others made needs the permission',
  'nobody ends by going what somebody has taken back',
  'nobody ends by going what is left of an earlier membership',
  'nobody ends by going what was kept when they were demoted',
  'whoever settles a member again means it',
  'only an owner deletes the store',
  'a leak counts in a deleted store too',
  'whoever is erased is settled in a deleted store too',
  'what cannot be undone needs a recent sign-in',
] as const
export type Rule = (typeof RULES)[number]

export type Refusal = string | null
/** The world that is about to change, and which rules count. */
export type Draft = { world: World; on: (rule: Rule) => boolean }
export type Rights = { role: Role; permissions: string[] | null }
export type Cascade = { keys: 'keep' | 'revoke'; webhooks: 'keep' | 'disable' }

// ---- what can be asked ------------------------------------------------------------------------------------------

export type KeyChange = Partial<Bounds & Pick<Key, 'permissions' | 'enabled'>>

/** What `expire` brings: an end that is earlier than the key's own. */
export type BulkChange = { action: 'revoke' | 'disable' | 'enable' } | { action: 'expire'; expiresAt: number }

/** `by` is the credential that the request is made with. */
export type Operation =
  | { op: 'create key'; by: Credential; settings: Bounds & Pick<Key, 'type' | 'permissions'> }
  | { op: 'import key'; by: Credential; settings: Bounds & Pick<Key, 'type' | 'permissions'> }
  | { op: 'change key'; by: Credential; key: number; change: KeyChange }
  | { op: 'set credits'; by: Credential; key: number; credits: Credits }
  | { op: 'change keys'; by: Credential; keys: number[]; change: BulkChange }
  | { op: 'rotate key'; by: Credential; key: number; graceSeconds: number }
  | { op: 'revoke key'; by: Credential; key: number; made: 'keep' | 'revoke' }
  | { op: 'freeze' | 'unfreeze'; by: Credential }
  | { op: 'report leak'; secret: SecretOf }
  | { op: 'invite'; by: Credential; to: number; rights: Rights }
  | { op: 'accept'; by: SessionOf; invitation: number }
  | { op: 'withdraw'; by: Credential; invitation: number }
  | { op: 'join'; by: SessionOf }
  | { op: 'change member'; by: Credential; person: number; rights: Rights; cascade: Cascade }
  | { op: 'remove member'; by: Credential; person: number; cascade: Cascade }
  | { op: 'leave' | 'erase'; by: SessionOf; cascade: Cascade }
  | { op: 'sign out' | 'end other sessions'; by: SessionOf }
  | { op: 'make webhook'; by: Credential }
  | { op: 'change webhook'; by: Credential; webhook: number; enabled: boolean }
  | { op: 'rotate webhook'; by: Credential; webhook: number }
  | { op: 'change store'; by: Credential; change: Partial<Pick<Store, 'registration' | 'leakGraceSeconds'>> }
  | { op: 'delete store' | 'restore store'; by: Credential }
  | { op: 'pass time'; seconds: number }

/** An operation by its name. */
export type Named<Name extends Operation['op']> = Extract<Operation, { op: Name }>

// ---- who calls ------------------------------------------------------------------------------------------------------

export function authenticate({ world, on }: Draft, by: Credential): Refusal {
  const isOld = !isSession(by) && verifies(world, by) && isImported(world, by)
  const counts = on(isOld ? 'an imported value only verifies' : 'an ended session or key does nothing')
  if (counts && !isAlive(world, by)) return 'invalid_token'
  const isAway = boundsOf(world, by).place === 'ELSEWHERE'
  return isAway && on('a key works from its places only') ? 'forbidden_ip' : null
}

/** For every change in the store but those that a person makes to their own part in it. */
export function mayChange(draft: Draft, by: Credential, needed: string): Refusal {
  const { world, on } = draft
  const refusal = authenticate(draft, by)
  if (refusal !== null) return refusal
  if (isSession(by) && !hasPart(world, by.person)) return 'store_not_found'
  if (on('a permission is needed') && !heldBy(world, by).includes(needed)) return 'insufficient_permission'
  return on('a replaced secret changes nothing') && isReplaced(world, by) ? 'replaced_secret' : null
}

/** An owner in person: what they could hand on to a key does not count. */
export function mayDelete(draft: Draft, by: Credential): Refusal {
  const { world, on } = draft
  const refusal = authenticate(draft, by)
  if (refusal !== null) return refusal
  if (on('only an owner deletes the store')) {
    if (!isSession(by)) return 'user_required'
    if (!hasPart(world, by.person)) return 'store_not_found'
    if (!isOwner(world, by)) return 'insufficient_permission'
  }
  return signedInRecently(draft, by)
}

/** A key is nobody while its store is deleted. */
export function mayRestore(draft: Draft, by: Credential): Refusal {
  const refusal = authenticate(draft, by) ?? (isSession(by) ? signedInRecently(draft, by) : 'user_required')
  if (refusal !== null) return refusal
  return draft.world.store.deleted && isOwner(draft.world, by) ? null : 'store_not_found'
}

export function signedInRecently({ world, on }: Draft, by: Credential): Refusal {
  if (!isSession(by) || !on('what cannot be undone needs a recent sign-in')) return null
  const { openedAt } = nth(nth(world.people, by.person).sessions, by.session)
  return world.at - openedAt > RECENT_SIGN_IN_SECONDS ? 'recent_sign_in_required' : null
}

export const hasPart = (world: World, person: number) => !world.store.deleted && nth(world.people, person).role !== null

// ---- what is given --------------------------------------------------------------------------------------------------

export function mayGive({ world, on }: Draft, by: Credential, permissions: readonly string[], role?: Role): Refusal {
  if (on('nobody gives a permission they do not hold') && !covers(heldBy(world, by), permissions)) return 'cannot_grant'
  return role === 'OWNER' && on('only an owner makes an owner') && !isOwner(world, by) ? 'cannot_grant' : null
}

/** For changing a key and for taking its secret. */
export function holdsAllOf({ world, on }: Draft, by: Credential, key: Key): Refusal {
  if (isOwner(world, by) || covers(heldBy(world, by), key.permissions)) return null
  return on('a key that holds more is neither changed nor rotated') ? 'cannot_grant' : null
}

/** A key is made, changed and rotated only by a credential that is bound no more tightly. */
export function mayGiveToKey({ world, on }: Draft, by: Credential, key: Key | Bounds): Refusal {
  const outer = boundsOf(world, by)
  const lasts = 'endBeforeLeak' in key && on('an end that a leak brought forward does not count')
  const inner = lasts ? lastingBounds(key) : key
  if (on('a key gives nothing to a key with a later end') && !AS_TIGHT.end(outer, inner)) return 'cannot_grant'
  if (on('a key gives nothing to a key of more places') && !AS_TIGHT.places(outer, inner)) return 'cannot_grant'
  const isSlower = AS_TIGHT['rate limit'](outer, inner)
  if (on('a key gives nothing to a key with a higher rate limit') && !isSlower) return 'cannot_grant'
  const isNamed = AS_TIGHT['named limit'](outer, inner)
  if (on('a key gives nothing to a key with a higher named limit') && !isNamed) return 'cannot_grant'
  return on('a key gives nothing to a key with more credits') && !AS_TIGHT.credits(outer, inner) ? 'cannot_grant' : null
}

/** Bounds of one's own, put on it first, would make it a key that may be taken over. */
export function mayChangeKey(draft: Draft, by: Credential, before: Key): Refusal {
  return draft.on('a key that is bound less is not changed') ? mayGiveToKey(draft, by, before) : null
}

const RANKS: (Role | null)[] = ['OWNER', 'MANAGER', 'STAFF', 'CUSTOMER']
const NOBODY = { role: null, permissions: null }

/** A role higher up than before, or a permission more. A CUSTOMER without permissions holds no more than nobody. */
export function isRaise(before: Pick<Person, 'role' | 'permissions'>, after: Rights): boolean {
  const rank = RANKS.indexOf(before.role ?? 'CUSTOMER')
  return (
    RANKS.indexOf(after.role) < rank ||
    !covers(rightsOf(before.role, before.permissions), rightsOf(after.role, after.permissions))
  )
}

export function mayRaise({ world, on }: Draft, by: Credential, before: Person | null, after: Rights): Refusal {
  const gives = isBound(boundsOf(world, by)) && isRaise(before ?? NOBODY, after)
  return gives && on('a bound key gives nothing to people') ? 'cannot_grant' : null
}

export const mayGiveToWebhook = ({ world, on }: Draft, by: Credential): Refusal =>
  isBound(boundsOf(world, by)) && on('a bound key gives nothing to webhooks') ? 'cannot_grant' : null

// ---- members --------------------------------------------------------------------------------------------------------

export function outranks({ world, on }: Draft, by: Credential, member: Person): Refusal {
  const holdsAsMuch = covers(heldBy(world, by), heldByPerson(member))
  const isLess = (member.role === 'OWNER' && !isOwner(world, by)) || !holdsAsMuch
  return isLess && on('a member who holds more is not changed') ? 'outranked' : null
}

export function anotherOwner({ world, on }: Draft, member: Person): Refusal {
  if (member.role !== 'OWNER') return null
  const owners = world.people.filter(({ role }) => role === 'OWNER').length
  return owners < 2 && on('the last owner stays') ? 'last_owner' : null
}

/** Ending keys and webhooks needs the permission for it, but for what one leaves behind oneself. */
export function maySettle({ world, on }: Draft, by: Credential, person: number, cascade: Cascade): Refusal {
  if (!on('ending what others made needs the permission') || (isSession(by) && by.person === person)) return null
  const held = heldBy(world, by)
  const lacksKeys = cascade.keys === 'revoke' && !held.includes('MANAGE_KEYS')
  const lacksWebhooks = cascade.webhooks === 'disable' && !held.includes('MANAGE_WEBHOOKS')
  return lacksKeys || lacksWebhooks ? 'insufficient_permission' : null
}

// ---- invitations ----------------------------------------------------------------------------------------------------

export const isOpen = (world: World, { state, expiresAt }: Invitation) =>
  state === 'open' && expiresAt > world.at && !world.store.deleted

/** Whether its maker could make it now, with the very credential: for a person that is their membership. */
export function isWorthSomething({ world, on }: Draft, { madeBy: by, role, permissions }: Invitation): boolean {
  const held = heldBy(world, by)
  if (on('an invitation is worth nothing when its maker is dead')) {
    if (!isSession(by) && !isAlive(world, by)) return false
    if (isSession(by) && nth(world.people, by.person).role === null) return false
  }
  if (on('an invitation is worth nothing when its secret is replaced') && isReplaced(world, by)) return false
  if (!on('an invitation gives no more than its maker may give')) return true
  if (!held.includes('MANAGE_MEMBERS') || !covers(held, rightsOf(role, permissions))) return false
  if (role === 'OWNER' && !isOwner(world, by)) return false
  return !isBound(boundsOf(world, by)) || !isRaise(NOBODY, { role, permissions })
}
