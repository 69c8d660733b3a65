// What can be asked of a store: whether it is allowed, in the order in which the service looks, and what it then changes.
// What is asked about people is in rights-people.ts.

import {
  type Credential,
  change,
  copyWorld,
  heldBy,
  isEnded,
  isSession,
  type Key,
  nth,
  type Secret,
  type SecretOf,
  type Store,
  type World,
} from './rights-model.ts'
import {
  accept,
  changeMember,
  endSessions,
  erase,
  invite,
  join,
  leave,
  removeMember,
  withdraw,
} from './rights-people.ts'
import {
  type Draft,
  holdsAllOf,
  type KeyChange,
  mayChange,
  mayChangeKey,
  mayDelete,
  mayGive,
  mayGiveToKey,
  mayGiveToWebhook,
  mayRestore,
  type Named,
  type Operation,
  type Refusal,
  type Rule,
} from './rights-rules.ts'
import { endKeys, madeBy, settle } from './rights-settling.ts'

/** `refusal` is the code of the refusal, and then nothing has changed; null when the operation is allowed. */
export type Outcome = { refusal: Refusal; after: World }

/** Carries an operation out, with every rule but the one that is switched off. */
export function perform(before: World, operation: Operation, off?: Rule): Outcome {
  const draft = { world: copyWorld(before), on: (rule: Rule) => rule !== off }
  draft.world.n += 1
  const refusal = decide(draft, operation)
  return { refusal, after: refusal === null ? draft.world : before }
}

function decide(draft: Draft, operation: Operation): Refusal {
  switch (operation.op) {
    case 'create key':
    case 'import key':
      return createKey(draft, operation)
    case 'change key':
      return changeKey(draft, operation)
    case 'set credits':
      return setCredits(draft, operation)
    case 'change keys':
      return changeKeys(draft, operation)
    case 'rotate key':
      return rotateKey(draft, operation)
    case 'revoke key':
      return revokeKey(draft, operation)
    case 'freeze':
    case 'unfreeze':
      return setStore(draft, operation.by, 'MANAGE_KEYS', { frozen: operation.op === 'freeze' })
    case 'report leak':
      return reportLeak(draft, operation.secret)
    case 'invite':
      return invite(draft, operation)
    case 'accept':
      return accept(draft, operation)
    case 'withdraw':
      return withdraw(draft, operation)
    case 'join':
      return join(draft, operation.by)
    case 'change member':
      return changeMember(draft, operation)
    case 'remove member':
      return removeMember(draft, operation)
    case 'leave':
      return leave(draft, operation)
    case 'erase':
      return erase(draft, operation)
    case 'sign out':
    case 'end other sessions':
      return endSessions(draft, operation)
    case 'make webhook':
    case 'change webhook':
    case 'rotate webhook':
      return touchWebhook(draft, operation)
    case 'change store':
      return setStore(draft, operation.by, 'MANAGE_STORE', operation.change)
    case 'delete store':
    case 'restore store':
      return deleteOrRestore(draft, operation)
    case 'pass time':
      draft.world.at += operation.seconds
      return null
  }
}

function setStore(draft: Draft, by: Credential, needed: string, changes: Partial<Store>): Refusal {
  const refusal = mayChange(draft, by, needed)
  if (refusal === null) draft.world.store = { ...draft.world.store, ...changes }
  return refusal
}

function deleteOrRestore(draft: Draft, { op, by }: Named<'delete store' | 'restore store'>): Refusal {
  const deleted = op === 'delete store'
  const refusal = deleted ? mayDelete(draft, by) : mayRestore(draft, by)
  if (refusal === null) draft.world.store = { ...draft.world.store, deleted }
  return refusal
}

// ---- keys -----------------------------------------------------------------------------------------------------------

function createKey(draft: Draft, { op, by, settings }: Named<'create key' | 'import key'>): Refusal {
  const refusal =
    mayChange(draft, by, 'MANAGE_KEYS') ?? mayGive(draft, by, settings.permissions) ?? mayGiveToKey(draft, by, settings)
  if (refusal !== null) return refusal
  const secrets = [{ takenBy: by, takenAt: draft.world.n, endsAt: null, imported: op === 'import key' }]
  draft.world.keys.push({
    ...settings,
    enabled: true,
    revoked: false,
    secrets,
    leakedSecret: null,
    endBeforeLeak: null,
  })
  return null
}

function changeKey(draft: Draft, { by, key, change: changes }: Named<'change key'>): Refusal {
  return mayChange(draft, by, 'MANAGE_KEYS') ?? changeOne(draft, by, key, changes)
}

function changeOne(draft: Draft, by: Credential, key: number, changes: KeyChange): Refusal {
  const before = nth(draft.world.keys, key)
  const after = { ...before, ...changes }
  if (JSON.stringify(before) === JSON.stringify(after)) return null
  if (isEnded(draft.world, before)) return endedCode(before)
  if (after.expiresAt !== before.expiresAt) after.endBeforeLeak = null
  const isItself = !isSession(by) && by.key === key
  const refused =
    holdsAllOf(draft, by, before) ??
    (isItself && draft.on('a key does not change itself') ? 'own_key' : null) ??
    mayGive(draft, by, changes.permissions ?? []) ??
    mayChangeKey(draft, by, before) ??
    mayGiveToKey(draft, by, after)
  if (refused === null) draft.world.keys[key] = after
  return refused
}

function setCredits(draft: Draft, { by, key, credits }: Named<'set credits'>): Refusal {
  const before = nth(draft.world.keys, key)
  const isItself = !isSession(by) && by.key === key
  const after = { ...before, credits }
  const refusal =
    mayChange(draft, by, 'MANAGE_KEYS') ??
    (isEnded(draft.world, before) ? endedCode(before) : null) ??
    holdsAllOf(draft, by, before) ??
    (isItself && draft.on('a key does not change itself') ? 'own_key' : null) ??
    (before.credits === null ? 'no_credits' : null) ??
    mayChangeKey(draft, by, before) ??
    mayGiveToKey(draft, by, after)
  if (refusal === null) draft.world.keys[key] = after
  return refusal
}

/** Each key is changed or fails by itself. One that the caller revokes with itself comes last, and does no harm to the rest. */
function changeKeys(draft: Draft, { by, keys, change: changes }: Named<'change keys'>): Refusal {
  const { world } = draft
  const refusal = mayChange(draft, by, 'MANAGE_KEYS')
  if (refusal !== null) return refusal
  if (changes.action === 'revoke') endKeys(world, keys)
  else
    for (const key of keys) {
      const { expiresAt } = nth(world.keys, key)
      const change =
        'expiresAt' in changes ? { expiresAt: changes.expiresAt } : { enabled: changes.action === 'enable' }
      if ('expiresAt' in changes && expiresAt !== null && expiresAt <= changes.expiresAt) continue
      if (draft.on('a bulk change holds for each key what a change does')) changeOne(draft, by, key, change)
      else world.keys[key] = { ...nth(world.keys, key), ...change }
    }
  return null
}

const endedCode = ({ revoked }: Key) => (revoked ? 'key_revoked' : 'key_expired')

function rotateKey(draft: Draft, { by, key, graceSeconds }: Named<'rotate key'>): Refusal {
  const { world } = draft
  const record = nth(world.keys, key)
  const isItself = !isSession(by) && by.key === key
  const refusal =
    mayChange(draft, by, 'MANAGE_KEYS') ??
    holdsAllOf(draft, by, record) ??
    (isEnded(world, record) ? endedCode(record) : null) ??
    (isItself ? null : mayGiveToKey(draft, by, record))
  if (refusal !== null) return refusal
  const replaced = record.secrets.length - 1
  const graceEnd = Math.min(world.at + graceSeconds, record.expiresAt ?? Number.POSITIVE_INFINITY)
  // At most two secrets ever work.
  const secrets: Secret[] = record.secrets.map((secret, n) => ({
    ...secret,
    endsAt: n === replaced && graceSeconds > 0 ? graceEnd : 0,
  }))
  change(world.keys, key, { secrets: [...secrets, { takenBy: by, takenAt: world.n, endsAt: null, imported: false }] })
  // A new secret resolves the leak, and the key gets back the end that the leak had brought forward.
  if (record.endBeforeLeak) change(world.keys, key, { ...record.endBeforeLeak, endBeforeLeak: null })
  return null
}

/** Anyone who manages keys may revoke any key. Webhooks made with it are ended only by those who manage webhooks. */
function revokeKey(draft: Draft, { by, key, made }: Named<'revoke key'>): Refusal {
  const { world } = draft
  const refusal = mayChange(draft, by, 'MANAGE_KEYS')
  if (refusal !== null) return refusal
  const theirs = madeBy(draft, { key })
  const endsWebhooks = made === 'revoke' && theirs.webhooks.some((n) => nth(world.webhooks, n).enabled)
  if (endsWebhooks && !heldBy(world, by).includes('MANAGE_WEBHOOKS')) return 'insufficient_permission'
  endKeys(world, [key])
  if (made === 'revoke') settle(draft, { key }, { keys: 'revoke', webhooks: 'disable' })
  return null
}

function reportLeak({ world, on }: Draft, { key, secret }: SecretOf): Refusal {
  const record = nth(world.keys, key)
  const { endsAt, imported } = nth(record.secrets, secret)
  // Nobody can know of which store a value is that was imported.
  const isReached = !world.store.deleted || on('a leak counts in a deleted store too')
  const isKnown = isReached && !imported && (endsAt === null || endsAt > world.at)
  if (!isKnown || secret <= (record.leakedSecret ?? -1)) return null
  change(world.keys, key, { leakedSecret: secret })
  if (isEnded(world, record)) return null
  const graceSeconds = record.type === 'PROD' && !world.store.deleted ? world.store.leakGraceSeconds : 0
  const end = world.at + graceSeconds
  if (graceSeconds === 0) endKeys(world, [key])
  else if (record.expiresAt === null || record.expiresAt > end)
    change(world.keys, key, {
      expiresAt: end,
      endBeforeLeak: record.endBeforeLeak ?? { expiresAt: record.expiresAt },
    })
  return null
}

// ---- webhooks -------------------------------------------------------------------------------------------------------

function touchWebhook(draft: Draft, operation: Named<'make webhook' | 'change webhook' | 'rotate webhook'>): Refusal {
  const { webhooks } = draft.world
  const { by } = operation
  const refusal = mayChange(draft, by, 'MANAGE_WEBHOOKS') ?? mayGiveToWebhook(draft, by)
  if (refusal !== null) return refusal
  if (operation.op === 'make webhook') webhooks.push({ madeBy: by, madeAt: draft.world.n, enabled: true, secrets: 1 })
  if (operation.op === 'change webhook') change(webhooks, operation.webhook, { enabled: operation.enabled })
  if (operation.op === 'rotate webhook')
    change(webhooks, operation.webhook, { secrets: nth(webhooks, operation.webhook).secrets + 1 })
  return null
}
