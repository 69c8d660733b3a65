// What must never come about in a store, whatever is done and in whatever order. The invariants look at the world before
// and after an operation, and at what they have seen themselves so far; they know no rule.

import {
  AS_TIGHT,
  areSame,
  type Bounds,
  boundsOf,
  type Credential,
  covers,
  heldBy,
  heldByPerson,
  isAlive,
  isBound,
  isEnded,
  isOwner,
  isReplaced,
  isSession,
  type Key,
  lastingBounds,
  nth,
  RECENT_SIGN_IN_SECONDS,
  rightsOf,
  type SecretOf,
  type SessionOf,
  type World,
} from './rights-model.ts'
import { isRaise, type Operation, type Rights } from './rights-rules.ts'

/** An operation that was allowed. `n` counts them. */
type Step = { n: number; before: World; operation: Operation; after: World; memory: Memory; gifts?: Gift[] }

/** What was seen so far. */
export type Memory = {
  /** Who was given each secret, and when: it is known to them from then on. */
  secrets: (SecretOf & { by: Credential; n: number })[]
  webhooks: { by: Credential; n: number }[]
  invitations: { by: Credential; n: number }[]
  /** Whose secrets were all to end, and when. */
  cleared: ({ person: number } | { key: number })[]
  clearedAt: number[]
  /** When a person became a member, or somebody else demoted or settled them: from the last time on what they take is theirs. */
  ownSince: Map<number, number>
  /** When a person's membership ended, and when somebody took a right from them, for the last time. */
  leftAt: Map<number, number>
  fellAt: Map<number, number>
  /** Who ended all sessions but one, and when. */
  distrusted: (SessionOf & { n: number })[]
  /** Reported as leaked. */
  leaked: SecretOf[]
}

export const newMemory = (): Memory => ({
  secrets: [],
  webhooks: [],
  invitations: [],
  cleared: [],
  clearedAt: [],
  ownSince: new Map(),
  leftAt: new Map(),
  fellAt: new Map(),
  distrusted: [],
  leaked: [],
})

// ---- what was given -------------------------------------------------------------------------------------------------

type Gift = { to: 'key'; permissions: string[]; bounds: Bounds } | ({ to: 'person' } & Rights) | { to: 'webhook' }

/** Who answers for the operation: its caller, or, when somebody accepts an invitation, the maker of that. */
function giverOf({ operation, memory }: Step): Credential | null {
  if (operation.op === 'accept') return nth(memory.invitations, operation.invitation).by
  return 'by' in operation ? operation.by : null
}

/** Whatever somebody can do after the operation and could not do before. */
function giftsOf(step: Step): Gift[] {
  step.gifts ??= findGifts(step)
  return step.gifts
}

function findGifts({ before, after, operation }: Step): Gift[] {
  const gifts: Gift[] = []
  after.keys.forEach((key, n) => {
    const was = before.keys[n]
    const isItself = operation.op === 'rotate key' && !isSession(operation.by) && operation.by.key === n
    if (was !== key && (was === undefined || hasGrown(was, key, isItself)))
      gifts.push({ to: 'key', permissions: key.permissions, bounds: lastingBounds(key) })
  })
  after.people.forEach(({ role, permissions }, n) => {
    const was = nth(before.people, n)
    if (was !== after.people[n] && role !== null && isRaise(was, { role, permissions }))
      gifts.push({ to: 'person', role, permissions })
  })
  for (const { role, permissions } of after.invitations.slice(before.invitations.length))
    if (isRaise({ role: null, permissions: null }, { role, permissions }))
      gifts.push({ to: 'person', role, permissions })
  after.webhooks.forEach((webhook, n) => {
    const was = before.webhooks[n]
    if (was === undefined || (webhook.enabled && !was.enabled) || webhook.secrets > was.secrets)
      gifts.push({ to: 'webhook' })
  })
  return gifts
}

/** A key that takes its own next secret gives nothing: its holder has the one before. */
function hasGrown(was: Key, is: Key, isItself: boolean): boolean {
  const [outer, inner] = [lastingBounds(was), lastingBounds(is)]
  return (
    (is.secrets.length > was.secrets.length && !isItself) ||
    !covers(was.permissions, is.permissions) ||
    Object.values(AS_TIGHT).some((holds) => !holds(outer, inner)) ||
    (is.enabled && !was.enabled)
  )
}

// ---- who holds what -------------------------------------------------------------------------------------------------

/** Whether the credential is known to them: it is theirs, or was given to a credential that is. */
function isKnownTo(memory: Memory, credential: Credential, who: { person: number } | { key: number }): boolean {
  if (isSession(credential)) return 'person' in who && credential.person === who.person
  if ('key' in who && credential.key === who.key) return true
  const taken = memory.secrets.find(({ key, secret }) => key === credential.key && secret === credential.secret)
  return taken !== undefined && isKnownTo(memory, taken.by, who)
}

/** The same, of what they took since the store last decided over what is theirs, or took with that. */
function isOfThisTime(memory: Memory, taken: { by: Credential; n: number }, person: number): boolean {
  const { by, n } = taken
  if (isSession(by)) return by.person === person && n > (memory.ownSince.get(person) ?? 0)
  const before = memory.secrets.find(({ key, secret }) => key === by.key && secret === by.secret)
  return before !== undefined && isOfThisTime(memory, before, person)
}

const isCurrent = (world: World, { key, secret }: SecretOf) => secret === nth(world.keys, key).secrets.length - 1

/** Whether the secret can be used now, or once its key is switched on and the store thawed. */
function isUsable(world: World, { key, secret }: SecretOf): boolean {
  const record = nth(world.keys, key)
  const { endsAt } = nth(record.secrets, secret)
  return !world.store.deleted && !isEnded(world, record) && (endsAt === null || endsAt > world.at)
}

/** The person whose keys and webhooks the operation was to settle, if there is one. */
function settledBy({ operation, before, after }: Step): number | null {
  switch (operation.op) {
    case 'remove member':
      return operation.person
    case 'change member':
      return hasFallen(before, after, operation.person) || isUnchanged(before, after, operation.person)
        ? operation.person
        : null
    case 'leave':
    case 'erase':
      return nth(before.people, operation.by.person).role !== null ? operation.by.person : null
    default:
      return null
  }
}

const isItself = (operation: Operation, person: number | null) =>
  'by' in operation && isSession(operation.by) && operation.by.person === person

const isUnchanged = (before: World, after: World, n: number) => areSame(nth(before.people, n), nth(after.people, n))

/** Somebody else has said what becomes of what they made, and has changed nothing else. */
function isSettledAgain(before: World, operation: Operation, after: World, person: number): boolean {
  if (operation.op !== 'change member' || operation.person !== person || isItself(operation, person)) return false
  const { keys, webhooks } = operation.cascade
  return isUnchanged(before, after, person) && (keys === 'revoke' || webhooks === 'disable')
}

function hasFallen(before: World, after: World, n: number): boolean {
  const [was, is] = [nth(before.people, n), nth(after.people, n)]
  if (was === is) return false
  return !covers(heldByPerson(is), heldByPerson(was)) || (was.role === 'OWNER' && is.role !== 'OWNER')
}

/** Takes notice of the operation, before the invariants look at it. */
export function notice({ n, before, operation, after, memory }: Step): void {
  const by = 'by' in operation ? operation.by : null
  after.keys.forEach((record, key) => {
    for (let secret = before.keys[key]?.secrets.length ?? 0; secret < record.secrets.length; secret++)
      if (by) memory.secrets.push({ key, secret, by, n })
  })
  if (by && after.webhooks.length > before.webhooks.length) memory.webhooks.push({ by, n })
  if (by && after.invitations.length > before.invitations.length) memory.invitations.push({ by, n })
  after.people.forEach(({ role }, person) => {
    const had = nth(before.people, person).role !== null
    if (role === null && had) memory.leftAt.set(person, n)
    if (role !== null && !had) memory.ownSince.set(person, n)
    const isOthersDoing = operation.op === 'change member' || operation.op === 'remove member'
    if (isOthersDoing && hasFallen(before, after, person)) {
      memory.fellAt.set(person, n)
      if (role !== null && !isItself(operation, person)) memory.ownSince.set(person, n)
    }
    if (isSettledAgain(before, operation, after, person)) memory.ownSince.set(person, n)
  })
  const person = settledBy({ n, before, operation, after, memory })
  const clears = 'cascade' in operation && operation.cascade.keys === 'revoke'
  if (person !== null && clears && !isItself(operation, person)) memory.cleared.push({ person })
  if (operation.op === 'revoke key' && operation.made === 'revoke') memory.cleared.push({ key: operation.key })
  if (operation.op === 'report leak') memory.leaked.push(operation.secret)
  if (operation.op === 'end other sessions') memory.distrusted.push({ ...operation.by, n })
  if (memory.clearedAt.length < memory.cleared.length) memory.clearedAt.push(n)
}

// ---- the invariants -------------------------------------------------------------------------------------------------

const CHANGES: Operation['op'][] = ['change key', 'set credits', 'change keys']
const NEEDS: Partial<Record<Operation['op'], string>> = {
  'create key': 'MANAGE_KEYS',
  'import key': 'MANAGE_KEYS',
  'change key': 'MANAGE_KEYS',
  'set credits': 'MANAGE_KEYS',
  'change keys': 'MANAGE_KEYS',
  'rotate key': 'MANAGE_KEYS',
  'revoke key': 'MANAGE_KEYS',
  freeze: 'MANAGE_KEYS',
  unfreeze: 'MANAGE_KEYS',
  invite: 'MANAGE_MEMBERS',
  withdraw: 'MANAGE_MEMBERS',
  'change member': 'MANAGE_MEMBERS',
  'remove member': 'MANAGE_MEMBERS',
  'make webhook': 'MANAGE_WEBHOOKS',
  'change webhook': 'MANAGE_WEBHOOKS',
  'rotate webhook': 'MANAGE_WEBHOOKS',
  'change store': 'MANAGE_STORE',
}

/** A key that was revoked may be anything: it is no key any more. */
function hasOtherSettings(was: Key | undefined, is: Key | undefined): boolean {
  const settings = (key?: Key) => JSON.stringify([key?.permissions, key?.enabled, key && lastingBounds(key)].flat())
  return is?.revoked === was?.revoked && settings(was) !== settings(is)
}

/** Each says whether it holds. */
export const INVARIANTS: Record<string, (step: Step) => boolean> = {
  'only a living credential acts': ({ before, operation }) => !('by' in operation) || isAlive(before, operation.by),
  'a key acts from its places only': ({ before, operation }) =>
    !('by' in operation) || boundsOf(before, operation.by).place !== 'ELSEWHERE',
  'a replaced secret changes nothing': ({ before, operation }) =>
    !('by' in operation) || !isReplaced(before, operation.by),
  'nobody acts without the permission': ({ before, operation }) => {
    const needed = NEEDS[operation.op]
    return needed === undefined || !('by' in operation) || heldBy(before, operation.by).includes(needed)
  },
  'nobody gets what the giver does not hold': (step) => {
    const giver = giverOf(step)
    if (giver === null) return giftsOf(step).length === 0
    const held = heldBy(step.before, giver)
    return giftsOf(step).every((gift) => {
      if (gift.to === 'key') return covers(held, gift.permissions)
      if (gift.to === 'webhook') return held.includes('MANAGE_WEBHOOKS')
      return covers(held, rightsOf(gift.role, gift.permissions))
    })
  },
  'only an owner makes an owner': (step) => {
    const giver = giverOf(step)
    const isGiven = giftsOf(step).some((gift) => gift.to === 'person' && gift.role === 'OWNER')
    return !isGiven || (giver !== null && isOwner(step.before, giver))
  },
  'what a bound credential gives is bound as it is': (step) => {
    const giver = giverOf(step)
    const outer = giver && boundsOf(step.before, giver)
    if (!outer || !isBound(outer)) return true
    return giftsOf(step).every(
      (gift) => gift.to === 'key' && Object.values(AS_TIGHT).every((holds) => holds(outer, gift.bounds)),
    )
  },
  'a key does not change its own settings': ({ before, after, operation }) => {
    if (!('by' in operation) || isSession(operation.by)) return true
    const [was, is] = [before, after].map(({ keys }) => keys[(operation.by as SecretOf).key])
    return !CHANGES.includes(operation.op) || !hasOtherSettings(was, is)
  },
  'a bound key changes no key that is bound less': ({ before, after, operation }) => {
    if (!('by' in operation) || isSession(operation.by) || !CHANGES.includes(operation.op)) return true
    const outer = boundsOf(before, operation.by)
    const isBoundLess = (key: Key) => Object.values(AS_TIGHT).some((holds) => !holds(outer, lastingBounds(key)))
    return before.keys.every((was, n) => !hasOtherSettings(was, after.keys[n]) || !isBoundLess(was))
  },
  'an invitation lives only as long as its maker': ({ before, operation, memory }) => {
    if (operation.op !== 'accept') return true
    const { by, n } = nth(memory.invitations, operation.invitation)
    const isDistrusted = memory.distrusted.some(
      (one) => one.n > n && isSession(by) && one.person === by.person && one.session !== by.session,
    )
    if (isDistrusted) return false
    if (isSession(by)) return (memory.leftAt.get(by.person) ?? -1) < n && heldBy(before, by).includes('MANAGE_MEMBERS')
    return isAlive(before, by) && !isReplaced(before, by) && heldBy(before, by).includes('MANAGE_MEMBERS')
  },
  'an invitation is accepted by whom it is for': ({ before, operation }) =>
    operation.op !== 'accept' || nth(before.invitations, operation.invitation).to === operation.by.person,
  'nobody who fell comes back by an earlier invitation': ({ operation, memory }) =>
    operation.op !== 'accept' ||
    (memory.fellAt.get(operation.by.person) ?? -1) < nth(memory.invitations, operation.invitation).n,
  'nobody who was cleared holds a secret': ({ after, memory }) =>
    memory.secrets.every(
      (taken) =>
        !isUsable(after, taken) ||
        memory.cleared.every((who, i) => taken.n > nth(memory.clearedAt, i) || !isKnownTo(memory, taken.by, who)),
    ),
  'no secret that leaked authenticates': ({ after, memory }) => !memory.leaked.some((secret) => isAlive(after, secret)),
  'no webhook of a person who was cleared is on': (step) => {
    const { operation, after, memory } = step
    const person = settledBy(step)
    if (person === null || !('cascade' in operation) || operation.cascade.webhooks !== 'disable') return true
    return after.webhooks.every(({ enabled }, n) => {
      const made = nth(memory.webhooks, n)
      const isTheirs = isItself(operation, person)
        ? isOfThisTime(memory, made, person)
        : isKnownTo(memory, made.by, { person })
      return !enabled || !isTheirs
    })
  },
  'whoever goes and says so ends each key whose secret is theirs': (step) => {
    const { operation, after, memory } = step
    const person = settledBy(step)
    if (person === null || !isItself(operation, person)) return true
    if (!('cascade' in operation) || operation.cascade.keys !== 'revoke') return true
    return memory.secrets.every(
      (taken) =>
        !isCurrent(after, taken) || !isOfThisTime(memory, taken, person) || isEnded(after, nth(after.keys, taken.key)),
    )
  },
  'whoever goes ends nothing but what is theirs': (step) => {
    const { before, after, operation, memory } = step
    const person = settledBy(step)
    if (person === null || !isItself(operation, person)) return true
    const endsOthersKey = after.keys.some(({ revoked }, key) => {
      const isTheirs = memory.secrets.some(
        (taken) => taken.key === key && isCurrent(after, taken) && isOfThisTime(memory, taken, person),
      )
      return revoked && before.keys[key]?.revoked === false && !isTheirs
    })
    const endsOthersWebhook = after.webhooks.some(
      ({ enabled }, n) =>
        !enabled && before.webhooks[n]?.enabled === true && !isOfThisTime(memory, nth(memory.webhooks, n), person),
    )
    return !endsOthersKey && !endsOthersWebhook
  },
  'nobody ends what others made without the permission': ({ before, after, operation }) => {
    if (!('by' in operation)) return true
    const whose = 'person' in operation ? operation.person : 'cascade' in operation ? operation.by.person : null
    if (isItself(operation, whose)) return true
    const held = heldBy(before, operation.by)
    const endsKeys = after.keys.some(({ revoked }, n) => revoked && before.keys[n]?.revoked === false)
    const endsWebhooks = after.webhooks.some(({ enabled }, n) => !enabled && before.webhooks[n]?.enabled === true)
    return (!endsKeys || held.includes('MANAGE_KEYS')) && (!endsWebhooks || held.includes('MANAGE_WEBHOOKS'))
  },
  'nobody falls by somebody who holds less': ({ before, after, operation }) => {
    if (!('by' in operation)) return true
    const { by } = operation
    return before.people.every(
      (was, n) =>
        !hasFallen(before, after, n) ||
        (isSession(by) && by.person === n) ||
        (covers(heldBy(before, by), heldByPerson(was)) && (was.role !== 'OWNER' || isOwner(before, by))),
    )
  },
  'there is always an owner': ({ after }) => after.store.deleted || after.people.some(({ role }) => role === 'OWNER'),
  'what has ended stays ended': ({ before, after }) =>
    before.keys.every((was, n) => !isEnded(before, was) || isEnded(after, nth(after.keys, n))) &&
    before.people.every((was, n) => {
      const is = nth(after.people, n)
      return (!was.erased || is.erased) && was.sessions.every(({ ended }, m) => !ended || nth(is.sessions, m).ended)
    }),
  'only an owner deletes the store': ({ before, after, operation }) =>
    before.store.deleted || !after.store.deleted || ('by' in operation && isOwner(before, operation.by)),
  'nobody is erased and no store deleted by an old session': ({ before, operation }) => {
    if (!['erase', 'delete store', 'restore store'].includes(operation.op) || !('by' in operation)) return true
    if (!isSession(operation.by)) return true
    const { openedAt } = nth(nth(before.people, operation.by.person).sessions, operation.by.session)
    return before.at - openedAt <= RECENT_SIGN_IN_SECONDS
  },
}
