// Random sequences of everything that can be asked of a store, and how they run on the model alone. A step names its caller
// and its target by number, so that it means something in whatever world it meets, and shrinks well.

import fc from 'fast-check'
import { BUILT_IN_PERMISSIONS, type Role } from '../src/core/permissions.ts'
import { INVARIANTS, type Memory, newMemory, notice } from './rights-invariants.ts'
import {
  type Bounds,
  type Credential,
  type Credits,
  type Key,
  newWorld,
  nth,
  PEOPLE,
  type Place,
  type RateLimit,
  SESSIONS_EACH,
  type SessionOf,
  type World,
} from './rights-model.ts'
import { perform } from './rights-operations.ts'
import type { BulkChange, Cascade, KeyChange, Operation, Refusal, Rights, Rule } from './rights-rules.ts'

// ---- what is random -------------------------------------------------------------------------------------------------

/** A session, or a secret of the n-th key: the current one, or the one `back` before it. */
type Caller = SessionOf | { nthKey: number; back: number }
/** In seconds from now. Sums of these and of the steps of time are far from each other: none falls into a request. */
const LIVES = [3_000, 10_000]
const GRACES = [0, 2_000, 30_000]
const LEAK_GRACES = [0, 5_000]
const PASSES = [700, 4_100, 700_000]

const PERMISSIONS = [
  ['READ'],
  ['READ', 'MANAGE_KEYS'],
  ['READ', 'MANAGE_KEYS', 'MANAGE_MEMBERS'],
  ['READ', 'WRITE', 'MANAGE_KEYS', 'MANAGE_MEMBERS', 'MANAGE_WEBHOOKS'],
  ['MANAGE_MEMBERS'],
  ['MANAGE_WEBHOOKS', 'MANAGE_STORE'],
  [...BUILT_IN_PERMISSIONS],
]

/** As `Operation`, with numbers in place of what they lead to. */
type Step =
  | { op: 'create key' | 'import key'; by: Caller; type: Key['type']; permissions: number; bounds: NewBounds }
  | { op: 'set credits'; by: Caller; key: number; credits: Credits }
  | { op: 'change keys'; by: Caller; keys: number[]; action: BulkChange['action']; life: number }
  | {
      op: 'change key'
      by: Caller
      key: number
      change: { permissions?: number; enabled?: boolean } & Partial<NewBounds>
    }
  | { op: 'rotate key'; by: Caller; key: number; graceSeconds: number }
  | { op: 'revoke key'; by: Caller; key: number; made: 'keep' | 'revoke' }
  | { op: 'freeze' | 'unfreeze' | 'make webhook' | 'delete store' | 'restore store'; by: Caller }
  | { op: 'report leak'; key: number; back: number }
  | { op: 'invite'; by: Caller; to: number; rights: Rights }
  | { op: 'accept'; session: number; invitation: number }
  | { op: 'accept as another'; by: SessionOf; invitation: number }
  | { op: 'withdraw'; by: Caller; invitation: number }
  | { op: 'change member'; by: Caller; person: number; rights: Rights; cascade: Cascade }
  | { op: 'remove member'; by: Caller; person: number; cascade: Cascade }
  | { op: 'leave' | 'erase'; by: SessionOf; cascade: Cascade }
  | { op: 'join' | 'sign out' | 'end other sessions'; by: SessionOf }
  | { op: 'change webhook'; by: Caller; webhook: number; enabled: boolean }
  | { op: 'rotate webhook'; by: Caller; webhook: number }
  | { op: 'change store'; by: Caller; change: { registration: 'OPEN' | 'CLOSED' } | { leakGraceSeconds: number } }
  | { op: 'pass time'; seconds: number }

type NewBounds = { life: number | null } & Omit<Bounds, 'expiresAt'>
const FREE: NewBounds = { life: null, place: null, rateLimit: null, exports: null, credits: null }

/** With a prototype, so that a failure prints as it is read. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { noNullPrototype: true })

const MAX_KEYS = 8
const nat = fc.nat(7)
const person = fc.nat(PEOPLE.length - 1)
const session = record({ person, session: fc.nat(SESSIONS_EACH - 1) })
const managing = record({ person: fc.constantFrom(0, 0, 1, 1, 2), session: fc.nat(SESSIONS_EACH - 1) })
const secret = record({ nthKey: nat, back: fc.constantFrom(0, 0, 0, 1) })
const caller: fc.Arbitrary<Caller> = fc.oneof(
  { weight: 4, arbitrary: managing },
  { weight: 4, arbitrary: secret },
  { weight: 1, arbitrary: session },
)
/** Most often one that is null. */
const mostlyNull = <T>(...values: T[]) => fc.constantFrom<(T | null)[]>(null, null, null, ...values)
const bounds = record({
  life: mostlyNull(...LIVES),
  place: mostlyNull<Place>('HERE', 'NEARBY', 'ELSEWHERE'),
  rateLimit: mostlyNull<RateLimit>(1_000, 5_000),
  exports: mostlyNull<RateLimit>(1_000, 5_000),
  credits: mostlyNull<Credits>(10, 50),
})
const permissions = fc.nat(PERMISSIONS.length - 1)
const rights: fc.Arbitrary<Rights> = fc.oneof(
  fc.constantFrom<Role[]>('OWNER', 'MANAGER', 'STAFF', 'CUSTOMER').map((role) => ({ role, permissions: null })),
  record({
    role: fc.constantFrom<Role[]>('MANAGER', 'STAFF', 'CUSTOMER'),
    permissions: permissions.map((n) => nth(PERMISSIONS, n)),
  }),
)
const cascade: fc.Arbitrary<Cascade> = record({
  keys: fc.constantFrom<Cascade['keys'][]>('keep', 'revoke'),
  webhooks: fc.constantFrom<Cascade['webhooks'][]>('keep', 'disable'),
})
const change = fc.oneof(
  record({ permissions }),
  record({ enabled: fc.boolean() }),
  record({ life: mostlyNull(...LIVES) }),
  record({ place: mostlyNull<Place>('HERE', 'NEARBY', 'ELSEWHERE') }),
  record({ rateLimit: mostlyNull<RateLimit>(1_000, 5_000) }),
  record({ exports: mostlyNull<RateLimit>(1_000, 5_000) }),
  record({ credits: mostlyNull<Credits>(10, 50) }),
)
const named = <Name extends string | number>(...names: Name[]) => fc.constantFrom(...names)

/** One in five keys is imported. */
const NEW = [...Array<'create key'>(4).fill('create key'), 'import key'] as const

const STEPS: [name: Step['op'], weight: number, step: fc.Arbitrary<Step>][] = [
  [
    'create key',
    8,
    record({ op: named(...NEW), by: caller, type: named('PROD', 'PROD', 'TEST'), permissions, bounds }),
  ],
  ['set credits', 2, record({ op: named('set credits'), by: caller, key: nat, credits: named<Credits>(10, 50) })],
  [
    'change keys',
    3,
    record({
      op: named('change keys'),
      by: caller,
      keys: fc.array(nat, { minLength: 1, maxLength: 3 }),
      action: named('revoke', 'disable', 'enable', 'enable', 'expire', 'expire'),
      life: fc.constantFrom(...LIVES),
    }),
  ],
  ['change key', 5, record({ op: named('change key'), by: caller, key: nat, change })],
  [
    'rotate key',
    7,
    record({ op: named('rotate key'), by: caller, key: nat, graceSeconds: fc.constantFrom(...GRACES) }),
  ],
  ['revoke key', 3, record({ op: named('revoke key'), by: caller, key: nat, made: named('keep', 'revoke') })],
  ['freeze', 2, record({ op: named('freeze', 'unfreeze'), by: caller })],
  ['report leak', 2, record({ op: named('report leak'), key: nat, back: fc.nat(1) })],
  ['invite', 6, record({ op: named('invite'), by: caller, to: person, rights })],
  ['accept', 6, record({ op: named('accept'), session: fc.nat(SESSIONS_EACH - 1), invitation: nat })],
  ['accept as another', 1, record({ op: named('accept as another'), by: session, invitation: nat })],
  ['withdraw', 1, record({ op: named('withdraw'), by: caller, invitation: nat })],
  ['change member', 5, record({ op: named('change member'), by: caller, person, rights, cascade })],
  ['remove member', 4, record({ op: named('remove member'), by: caller, person, cascade })],
  ['leave', 2, record({ op: named('leave', 'leave', 'erase'), by: session, cascade })],
  ['join', 2, record({ op: named('join', 'sign out', 'end other sessions'), by: session })],
  ['make webhook', 3, record({ op: named('make webhook'), by: caller })],
  ['change webhook', 2, record({ op: named('change webhook'), by: caller, webhook: nat, enabled: fc.boolean() })],
  ['rotate webhook', 1, record({ op: named('rotate webhook'), by: caller, webhook: nat })],
  [
    'change store',
    2,
    record({
      op: named('change store'),
      by: caller,
      change: fc.oneof(
        record({ registration: named('OPEN', 'OPEN', 'CLOSED') }),
        record({ leakGraceSeconds: fc.constantFrom(...LEAK_GRACES) }),
      ),
    }),
  ],
  ['delete store', 0.2, record({ op: named('delete store'), by: caller })],
  ['restore store', 0.4, record({ op: named('restore store'), by: managing })],
  ['pass time', 3, record({ op: named('pass time'), seconds: fc.constantFrom(...PASSES) })],
]

export type Sequence = Step[]

/**
 * Some sequences use all of it; most keep to a part, because what takes five steps of one kind hardly ever comes about among
 * twenty kinds.
 */
const MEMBERS = ['create key', 'invite', 'accept', 'join', 'change member', 'remove member', 'leave']
const KEYS = ['create key', 'change key', 'rotate key', 'revoke key', 'report leak', 'change store', 'pass time']
const PARTS: string[][] = [
  [],
  MEMBERS,
  KEYS,
  ['create key', 'change key', 'set credits', 'change keys', 'rotate key', 'pass time'],
  [...KEYS.slice(0, 4), 'invite', 'accept', 'freeze', 'report leak'],
  [...KEYS.slice(0, 4), ...MEMBERS, 'make webhook'],
  ['create key', 'rotate key', 'report leak', 'leave', 'delete store', 'restore store'],
]

const stepsOf = (part: string[]) =>
  STEPS.filter(([name]) => part.length === 0 || part.includes(name)).map(([, weight, arbitrary]) => ({
    weight: weight * 10,
    arbitrary,
  }))

/** Two members make something, rise, fall, go and come back: what they may end by going depends on the order of it all. */
const goer = record({ person: fc.constantFrom(1, 1, 2), session: fc.constant(0) })
const decider = fc.oneof(
  { weight: 4, arbitrary: record({ person: fc.constant(0), session: fc.constant(0) }) },
  { weight: 1, arbitrary: caller },
)
const goings: fc.Arbitrary<Step> = fc.oneof(
  record({ op: named('create key'), by: goer, type: named('PROD'), permissions: fc.nat(2), bounds: fc.constant(FREE) }),
  record({ op: named('make webhook'), by: goer }),
  record({ op: named('rotate key'), by: caller, key: nat, graceSeconds: fc.constantFrom(...GRACES) }),
  record({ op: named('change member'), by: decider, person: fc.constantFrom(1, 1, 2), rights, cascade }),
  record({ op: named('remove member'), by: decider, person: fc.constantFrom(1, 1, 2), cascade }),
  record({ op: named('join'), by: goer }),
  record({ op: named('leave'), by: goer, cascade }),
)

/** What most stories begin with: the owner has made a key that manages the store, bound or not. */
const opening = record({
  op: named('create key'),
  by: record({ person: fc.constant(0), session: fc.constant(0) }),
  type: named('PROD'),
  permissions: fc.constantFrom(3, 3, 1, 6),
  bounds,
})

export const sequences = (maxLength: number): fc.Arbitrary<Sequence> => {
  const lengths = { minLength: 1, maxLength: maxLength - 2, size: 'max' } as const
  const parts = [...PARTS.map((part) => fc.oneof(...stepsOf(part))), goings]
  const rest = fc.oneof(...parts.map((steps) => fc.array(steps, lengths)))
  return fc.tuple(fc.array(opening, { maxLength: 2 }), rest).map(([openings, others]) => [...openings, ...others])
}

// ---- what it means in a world ---------------------------------------------------------------------------------------

/** Null when there is nothing yet that the step could be about. */
export function resolve(world: World, step: Step): Operation | null {
  const by = 'by' in step ? callerIn(world, step.by) : null
  if (by === null && 'by' in step) return null
  const named = { ...step, ...(by ? { by } : {}) } as Operation & { nthKey?: number }
  switch (step.op) {
    case 'create key':
    case 'import key':
      if (world.keys.length >= MAX_KEYS) return null
      return {
        op: step.op,
        by: by as Credential,
        settings: { type: step.type, permissions: nth(PERMISSIONS, step.permissions), ...boundsIn(world, step.bounds) },
      }
    case 'change key':
      if (world.keys.length === 0) return null
      return { ...named, key: step.key % world.keys.length, change: changeIn(world, step.change) } as Operation
    case 'change keys': {
      if (world.keys.length === 0) return null
      const keys = [...new Set(step.keys.map((n) => n % world.keys.length))]
      const { action } = step
      const change = action === 'expire' ? { action, expiresAt: world.at + step.life } : { action }
      return { op: step.op, by: by as Credential, keys, change }
    }
    case 'set credits':
    case 'rotate key':
    case 'revoke key':
      return world.keys.length === 0 ? null : ({ ...named, key: step.key % world.keys.length } as Operation)
    case 'report leak': {
      const found = callerIn(world, { nthKey: step.key, back: step.back })
      return found && 'key' in found ? { op: step.op, secret: found } : null
    }
    case 'accept':
    case 'accept as another':
    case 'withdraw': {
      if (world.invitations.length === 0) return null
      // The newest first: older ones are mostly over.
      const invitation = Math.max(0, world.invitations.length - 1 - (step.invitation >> 1))
      if (step.op === 'withdraw') return { op: step.op, by: by as Credential, invitation }
      const invited = { person: nth(world.invitations, invitation).to, session: 0 }
      const as = step.op === 'accept' ? { ...invited, session: step.session } : step.by
      return { op: 'accept', by: as, invitation }
    }
    case 'change webhook':
    case 'rotate webhook':
      return world.webhooks.length === 0
        ? null
        : ({ ...named, webhook: step.webhook % world.webhooks.length } as Operation)
    default:
      return named
  }
}

function callerIn(world: World, by: Caller): Credential | null {
  if ('person' in by) return by
  if (world.keys.length === 0) return null
  const key = by.nthKey % world.keys.length
  return { key, secret: Math.max(0, nth(world.keys, key).secrets.length - 1 - by.back) }
}

function boundsIn(world: World, { life, ...rest }: NewBounds): Bounds {
  return { expiresAt: life === null ? null : world.at + life, ...rest }
}

function changeIn(world: World, change: Extract<Step, { op: 'change key' }>['change']): KeyChange {
  const { permissions, life, ...rest } = change
  return {
    ...rest,
    ...(permissions === undefined ? {} : { permissions: nth(PERMISSIONS, permissions) }),
    ...(life === undefined ? {} : { expiresAt: life === null ? null : world.at + life }),
  }
}

// ---- on the model alone ---------------------------------------------------------------------------------------------

export type Violation = { invariant: string; told: string[] }

/** Runs the sequence with every rule but `off`; the first invariant that fails, and what had happened until then. */
export const runOnModel = (sequence: Sequence, off?: Rule): Violation | null => runOperations(sequence, resolve, off)

/** The same for operations that are given as such. */
export function runOperations<T>(
  steps: Iterable<T>,
  toOperation: (world: World, step: T) => Operation | null,
  off?: Rule,
): Violation | null {
  let world = newWorld()
  const memory: Memory = newMemory()
  const told: { operation: Operation; refusal: Refusal }[] = []
  for (const step of steps) {
    const operation = toOperation(world, step)
    if (operation === null) continue
    const { refusal, after } = perform(world, operation, off)
    told.push({ operation, refusal })
    if (refusal !== null) continue
    const seen = { n: told.length, before: world, operation, after, memory }
    notice(seen)
    for (const [invariant, holds] of invariants)
      if (!holds(seen)) return { invariant, told: told.map((one) => tell(one.operation, one.refusal)) }
    world = after
  }
  return null
}

const invariants = Object.entries(INVARIANTS)

/** One line about an operation and its outcome. */
export function tell({ op, ...rest }: Operation, refusal: Refusal): string {
  const { by, ...details } = rest as { by?: Credential }
  const who = by === undefined ? '' : 'person' in by ? nth(PEOPLE, by.person).name : `key ${by.key}`
  const which = by === undefined ? '' : 'person' in by ? `session ${by.session}` : `secret ${by.secret}`
  return [who && `${who} (${which}):`, op, JSON.stringify(details), `→ ${refusal ?? 'allowed'}`]
    .filter(Boolean)
    .join(' ')
}
