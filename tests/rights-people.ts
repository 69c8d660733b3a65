// What can be asked about people: whether they are invited, what they are in the store, how they leave it, their sessions.

import {
  areSame,
  type Credential,
  change,
  covers,
  heldByPerson,
  INVITATION_SECONDS,
  isSession,
  nth,
  rightsOf,
  type SessionOf,
} from './rights-model.ts'
import {
  anotherOwner,
  authenticate,
  type Draft,
  hasPart,
  isOpen,
  isWorthSomething,
  mayChange,
  mayGive,
  mayRaise,
  maySettle,
  type Named,
  outranks,
  type Refusal,
  signedInRecently,
} from './rights-rules.ts'
import { settle, withdrawWhere } from './rights-settling.ts'

export function invite(draft: Draft, { by, to, rights }: Named<'invite'>): Refusal {
  const { world } = draft
  const refusal =
    mayChange(draft, by, 'MANAGE_MEMBERS') ??
    mayGive(draft, by, rightsOf(rights.role, rights.permissions), rights.role) ??
    mayRaise(draft, by, null, rights)
  if (refusal !== null) return refusal
  // One open invitation for each address.
  withdrawWhere(world, (invitation) => invitation.to === to)
  const expiresAt = world.at + INVITATION_SECONDS
  world.invitations.push({ to, ...rights, madeBy: by, expiresAt, state: 'open' })
  return null
}

export function accept(draft: Draft, { by, invitation }: Named<'accept'>): Refusal {
  const { world, on } = draft
  const refusal = authenticate(draft, by)
  if (refusal !== null) return refusal
  const found = nth(world.invitations, invitation)
  if (!isOpen(world, found)) return 'invitation_not_found'
  if (found.to !== by.person && on('an invitation is for one person')) return 'invitation_mismatch'
  if (!isWorthSomething(draft, found)) return 'invitation_not_found'
  const person = nth(world.people, by.person)
  // A customer who is invited to a role moves up; a member with a role keeps it.
  if (person.role !== null && (person.role !== 'CUSTOMER' || found.role === 'CUSTOMER')) return 'already_member'
  change(world.invitations, invitation, { state: 'accepted' })
  const since = person.role === null ? world.n : person.since
  change(world.people, by.person, { role: found.role, permissions: found.permissions, since })
  return null
}

export function withdraw(draft: Draft, { by, invitation }: Named<'withdraw'>): Refusal {
  const refusal = mayChange(draft, by, 'MANAGE_MEMBERS')
  if (refusal !== null) return refusal
  const found = nth(draft.world.invitations, invitation)
  if (found.state !== 'open') return 'invitation_not_found'
  change(draft.world.invitations, invitation, { state: 'withdrawn' })
  return null
}

export function join(draft: Draft, by: SessionOf): Refusal {
  const refusal = authenticate(draft, by)
  if (refusal !== null) return refusal
  const { store, people } = draft.world
  const person = nth(people, by.person)
  if (store.deleted) return 'store_not_found'
  if (person.role !== null) return 'already_member'
  if (store.registration !== 'OPEN') return 'store_not_found'
  change(people, by.person, { role: 'CUSTOMER', permissions: null, since: draft.world.n })
  return null
}

export function changeMember(draft: Draft, operation: Named<'change member'>): Refusal {
  const { world, on } = draft
  const { by, person, rights, cascade } = operation
  const refusal = mayChange(draft, by, 'MANAGE_MEMBERS') ?? maySettle(draft, by, person, cascade)
  if (refusal !== null) return refusal
  const member = nth(world.people, person)
  if (member.role === null) return 'member_not_found'
  const [before, after] = [heldByPerson(member), rightsOf(rights.role, rights.permissions)]
  const stopsOwning = member.role === 'OWNER' && rights.role !== 'OWNER'
  const refused =
    outranks(draft, by, member) ??
    mayGive(draft, by, after, rights.role) ??
    mayRaise(draft, by, member, rights) ??
    (stopsOwning ? anotherOwner(draft, member) : null)
  if (refused !== null) return refused
  change(world.people, person, rights)
  const isDemoted = !covers(after, before) || (stopsOwning && on('an owner who is one no more is demoted'))
  const endsSomething = cascade.keys === 'revoke' || cascade.webhooks === 'disable'
  const isAgain = areSame(member, rights) && endsSomething && on('whoever settles a member again means it')
  if (!isDemoted && !isAgain) return null
  withdrawInvitationsTo(draft, person)
  settle(draft, { person, itself: isItself(by, person) }, cascade)
  const isDecided = !isItself(by, person) && on('nobody ends by going what was kept when they were demoted')
  if (isDecided) change(world.people, person, { since: world.n })
  return null
}

const isItself = (by: Credential, person: number) => isSession(by) && by.person === person

/** Somebody who was a member once is settled in the same way. */
export function removeMember(draft: Draft, { by, person, cascade }: Named<'remove member'>): Refusal {
  const refusal = mayChange(draft, by, 'MANAGE_MEMBERS') ?? maySettle(draft, by, person, cascade)
  if (refusal !== null) return refusal
  const member = nth(draft.world.people, person)
  if (member.role === null && !member.former) return 'member_not_found'
  const refused = member.role === null ? null : (outranks(draft, by, member) ?? anotherOwner(draft, member))
  if (refused !== null) return refused
  settle(draft, { person, itself: isItself(by, person) }, cascade)
  withdrawInvitationsTo(draft, person)
  endMembership(draft, person)
  return null
}

export function leave(draft: Draft, { by, cascade }: Named<'leave' | 'erase'>): Refusal {
  const refusal = authenticate(draft, by)
  if (refusal !== null) return refusal
  if (!hasPart(draft.world, by.person)) return 'store_not_found'
  const member = nth(draft.world.people, by.person)
  const refused = anotherOwner(draft, member)
  if (refused !== null) return refused
  settle(draft, { person: by.person, itself: true }, cascade)
  endMembership(draft, by.person)
  return null
}

export function erase(draft: Draft, { by, cascade }: Named<'leave' | 'erase'>): Refusal {
  const { world, on } = draft
  const refusal = authenticate(draft, by) ?? signedInRecently(draft, by)
  if (refusal !== null) return refusal
  const person = nth(world.people, by.person)
  const refused = world.store.deleted ? null : anotherOwner(draft, person)
  if (refused !== null) return refused
  const isReached = !world.store.deleted || on('whoever is erased is settled in a deleted store too')
  if (person.role !== null && isReached) settle(draft, { person: by.person, itself: true }, cascade)
  withdrawWhere(world, ({ to }) => to === by.person)
  endMembership(draft, by.person)
  change(world.people, by.person, { erased: true })
  return null
}

function endMembership({ world, on }: Draft, person: number): void {
  const { role, former } = nth(world.people, person)
  change(world.people, person, { role: null, permissions: null, former: former || role !== null })
  if (on('an invitation ends with the membership of its maker'))
    withdrawWhere(world, ({ madeBy }) => isSession(madeBy) && madeBy.person === person)
}

function withdrawInvitationsTo({ world, on }: Draft, person: number): void {
  if (on('invitations to a member who falls are withdrawn')) withdrawWhere(world, ({ to }) => to === person)
}

export function endSessions(draft: Draft, { op, by }: Named<'sign out' | 'end other sessions'>): Refusal {
  const refusal = authenticate(draft, by)
  if (refusal !== null) return refusal
  const sessions = nth(draft.world.people, by.person).sessions.map((session, n) => ({
    ...session,
    ended: session.ended || (n === by.session) === (op === 'sign out'),
  }))
  change(draft.world.people, by.person, { sessions })
  // Signing out is no act of safety.
  if (op === 'end other sessions' && draft.on('an invitation ends with a session that is ended for safety'))
    withdrawWhere(
      draft.world,
      ({ madeBy }) => isSession(madeBy) && madeBy.person === by.person && madeBy.session !== by.session,
    )
  return null
}
