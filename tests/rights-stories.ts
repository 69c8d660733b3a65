// For each rule, the shortest story that goes wrong without it, and the invariant that then fails. Found by random
// sequences and shrunk; `npm run stress:rights` finds them again.

import { BUILT_IN_PERMISSIONS, type Role } from '../src/core/permissions.ts'
import { type Bounds, type Credential, type SecretOf, type SessionOf, UNBOUND } from './rights-model.ts'
import type { Cascade, Operation, Rule } from './rights-rules.ts'

const owner: SessionOf = { person: 0, session: 0 }
const manager: SessionOf = { person: 1, session: 0 }
const clerk: SessionOf = { person: 2, session: 0 }
const customer: SessionOf = { person: 3, session: 0 }
const stranger: SessionOf = { person: 4, session: 0 }
const secret = (key: number, n = 0): SecretOf => ({ key, secret: n })

const KEEP: Cascade = { keys: 'keep', webhooks: 'keep' }
const REVOKE: Cascade = { keys: 'revoke', webhooks: 'keep' }
const ALL = [...BUILT_IN_PERMISSIONS]
const CHIEF = ['READ', 'MANAGE_KEYS', 'MANAGE_MEMBERS', 'MANAGE_WEBHOOKS']

const create = (by: Credential, bounds: Partial<Bounds> = {}, permissions = CHIEF): Operation => ({
  op: 'create key',
  by,
  settings: { type: 'PROD', permissions, ...UNBOUND, ...bounds },
})
const rotate = (by: Credential, key: number, graceSeconds = 0): Operation => ({
  op: 'rotate key',
  by,
  key,
  graceSeconds,
})
const invite = (by: Credential, to: SessionOf, permissions = ['READ']): Operation => ({
  op: 'invite',
  by,
  to: to.person,
  rights: { role: 'STAFF', permissions },
})
const accept = (by: SessionOf, invitation = 0): Operation => ({ op: 'accept', by, invitation })
const remove = (by: Credential, whom: SessionOf, cascade = KEEP): Operation => ({
  op: 'remove member',
  by,
  person: whom.person,
  cascade,
})
const change = (by: Credential, whom: SessionOf, role: Role, cascade = KEEP, permissions?: string[]): Operation => ({
  op: 'change member',
  by,
  person: whom.person,
  rights: { role, permissions: permissions ?? null },
  cascade,
})
const makeOwner = (by: Credential, whom: SessionOf) => change(by, whom, 'OWNER')

export const STORIES: Record<Rule, { operations: Operation[]; breaks: string }> = {
  'an ended session or key does nothing': {
    operations: [{ op: 'sign out', by: manager }, create(manager)],
    breaks: 'only a living credential acts',
  },
  'a key works from its places only': {
    operations: [create(owner, { place: 'ELSEWHERE' }), { op: 'freeze', by: secret(0) }],
    breaks: 'a key acts from its places only',
  },
  'a permission is needed': {
    operations: [{ op: 'freeze', by: clerk }],
    breaks: 'nobody acts without the permission',
  },
  'a replaced secret changes nothing': {
    operations: [create(owner), rotate(owner, 0, 2_000), create(secret(0))],
    breaks: 'a replaced secret changes nothing',
  },
  'nobody gives a permission they do not hold': {
    operations: [create(manager, {}, ['MANAGE_STORE'])],
    breaks: 'nobody gets what the giver does not hold',
  },
  'only an owner makes an owner': {
    operations: [create(owner, {}, ALL), makeOwner(secret(0), customer)],
    breaks: 'only an owner makes an owner',
  },
  'a key that holds more is neither changed nor rotated': {
    operations: [create(owner, {}, ['MANAGE_STORE']), rotate(manager, 0)],
    breaks: 'nobody gets what the giver does not hold',
  },
  'a key does not change itself': {
    operations: [create(owner), { op: 'change key', by: secret(0), key: 0, change: { permissions: ['READ'] } }],
    breaks: 'a key does not change its own settings',
  },
  'a key gives nothing to a key with a later end': {
    operations: [create(owner, { expiresAt: 3_000 }), create(secret(0))],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a key gives nothing to a key of more places': {
    operations: [create(owner, { place: 'HERE' }), create(secret(0), { place: 'NEARBY' })],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a key gives nothing to a key with a higher rate limit': {
    operations: [create(owner, { rateLimit: 1_000 }), create(owner), rotate(secret(0), 1)],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a key gives nothing to a key with a higher named limit': {
    operations: [create(owner, { exports: 1_000 }), create(owner), rotate(secret(0), 1)],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a key gives nothing to a key with more credits': {
    operations: [
      create(owner, { credits: 10 }),
      create(owner, { credits: 10 }),
      { op: 'set credits', by: secret(0), key: 1, credits: 50 },
    ],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a key that is bound less is not changed': {
    operations: [
      create(owner, { expiresAt: 100 }),
      create(owner),
      { op: 'change key', by: secret(0), key: 1, change: { expiresAt: 100 } },
    ],
    breaks: 'a bound key changes no key that is bound less',
  },
  'an imported value only verifies': {
    operations: [{ ...create(owner), op: 'import key' } as Operation, { op: 'freeze', by: secret(0) }],
    breaks: 'only a living credential acts',
  },
  'a bulk change holds for each key what a change does': {
    operations: [
      create(owner, {}, ['READ', 'MANAGE_KEYS']),
      create(owner),
      { op: 'change keys', by: owner, keys: [1], change: { action: 'disable' } },
      { op: 'change keys', by: secret(0), keys: [1], change: { action: 'enable' } },
    ],
    breaks: 'nobody gets what the giver does not hold',
  },
  'an end that a leak brought forward does not count': {
    operations: [
      create(owner, { expiresAt: 10_000 }),
      create(owner),
      { op: 'report leak', secret: secret(1) },
      rotate(secret(0), 1),
    ],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a bound key gives nothing to people': {
    operations: [create(owner, { expiresAt: 3_000 }), invite(secret(0), stranger)],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a bound key gives nothing to webhooks': {
    operations: [create(owner, { expiresAt: 3_000 }), { op: 'make webhook', by: secret(0) }],
    breaks: 'what a bound credential gives is bound as it is',
  },
  'a member who holds more is not changed': {
    operations: [remove(clerk, manager)],
    breaks: 'nobody falls by somebody who holds less',
  },
  'the last owner stays': {
    operations: [{ op: 'leave', by: owner, cascade: KEEP }],
    breaks: 'there is always an owner',
  },
  'an invitation is for one person': {
    operations: [invite(owner, customer), accept(stranger)],
    breaks: 'an invitation is accepted by whom it is for',
  },
  'an invitation gives no more than its maker may give': {
    operations: [
      create(owner),
      invite(secret(0), stranger),
      { op: 'change key', by: owner, key: 0, change: { permissions: ['MANAGE_MEMBERS'] } },
      accept(stranger),
    ],
    breaks: 'nobody gets what the giver does not hold',
  },
  'an invitation is worth nothing when its maker is dead': {
    operations: [create(owner), invite(secret(0), stranger), { op: 'freeze', by: owner }, accept(stranger)],
    breaks: 'an invitation lives only as long as its maker',
  },
  'an invitation is worth nothing when its secret is replaced': {
    operations: [create(owner), invite(secret(0), stranger), rotate(owner, 0, 2_000), accept(stranger)],
    breaks: 'an invitation lives only as long as its maker',
  },
  'an invitation ends with the membership of its maker': {
    operations: [
      invite(manager, stranger),
      remove(owner, manager),
      invite(owner, manager, CHIEF),
      accept(manager, 1),
      accept(stranger, 0),
    ],
    breaks: 'an invitation lives only as long as its maker',
  },
  'an invitation ends with a session that is ended for safety': {
    operations: [
      invite({ ...owner, session: 1 }, stranger),
      { op: 'sign out', by: { ...owner, session: 1 } },
      { op: 'end other sessions', by: owner },
      accept(stranger),
    ],
    breaks: 'an invitation lives only as long as its maker',
  },
  'invitations to a member who falls are withdrawn': {
    operations: [invite(owner, manager, CHIEF), remove(owner, manager), accept(manager)],
    breaks: 'nobody who fell comes back by an earlier invitation',
  },
  'an owner who is one no more is demoted': {
    operations: [makeOwner(owner, manager), create(manager), change(owner, manager, 'MANAGER', REVOKE, ALL)],
    breaks: 'nobody who was cleared holds a secret',
  },
  'whoever rotates a key takes its secret': {
    operations: [create(owner), rotate(manager, 0), remove(owner, manager, REVOKE)],
    breaks: 'nobody who was cleared holds a secret',
  },
  'a secret taken with a secret is theirs too': {
    operations: [create(owner), create(manager), rotate(secret(1), 0), remove(owner, manager, REVOKE)],
    breaks: 'nobody who was cleared holds a secret',
  },
  'ending what others made needs the permission': {
    operations: [create(manager), { op: 'leave', by: manager, cascade: KEEP }, remove(clerk, manager, REVOKE)],
    breaks: 'nobody ends what others made without the permission',
  },
  'nobody ends by going what somebody has taken back': {
    operations: [create(manager), rotate(owner, 0, 2_000), { op: 'leave', by: manager, cascade: REVOKE }],
    breaks: 'whoever goes ends nothing but what is theirs',
  },
  'nobody ends by going what is left of an earlier membership': {
    operations: [
      create(manager),
      { op: 'make webhook', by: manager },
      remove(owner, manager),
      { op: 'join', by: manager },
      { op: 'leave', by: manager, cascade: { keys: 'revoke', webhooks: 'disable' } },
    ],
    breaks: 'whoever goes ends nothing but what is theirs',
  },
  'nobody ends by going what was kept when they were demoted': {
    operations: [
      create(manager),
      { op: 'make webhook', by: manager },
      change(owner, manager, 'STAFF'),
      { op: 'leave', by: manager, cascade: { keys: 'revoke', webhooks: 'disable' } },
    ],
    breaks: 'whoever goes ends nothing but what is theirs',
  },
  'whoever settles a member again means it': {
    operations: [create(manager), ...[KEEP, REVOKE].map((cascade) => change(owner, manager, 'STAFF', cascade))],
    breaks: 'nobody who was cleared holds a secret',
  },
  'only an owner deletes the store': {
    operations: [create(owner, { expiresAt: 3_000 }, ALL), { op: 'delete store', by: secret(0) }],
    breaks: 'only an owner deletes the store',
  },
  'a leak counts in a deleted store too': {
    operations: [
      create(owner),
      { op: 'delete store', by: owner },
      { op: 'report leak', secret: secret(0) },
      { op: 'restore store', by: owner },
    ],
    breaks: 'no secret that leaked authenticates',
  },
  'whoever is erased is settled in a deleted store too': {
    operations: [
      create(manager),
      { op: 'delete store', by: owner },
      { op: 'erase', by: manager, cascade: REVOKE },
      { op: 'restore store', by: owner },
    ],
    breaks: 'whoever goes and says so ends each key whose secret is theirs',
  },
  'what cannot be undone needs a recent sign-in': {
    operations: [
      { op: 'pass time', seconds: 700 },
      { op: 'erase', by: manager, cascade: KEEP },
      { op: 'delete store', by: owner },
    ],
    breaks: 'nobody is erased and no store deleted by an old session',
  },
}
