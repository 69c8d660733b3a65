// The keys of the fake in memory, and the verdicts on them, by the same checks in the same order as the service's.

import {
  BUILT_IN_PERMISSIONS,
  type Key,
  type KeyChanges,
  type KeyWithSecret,
  type NewKey,
  type RefusedVerdict,
  type ValidVerdict,
  type Verdict,
  type Verification,
} from '../api.gen.ts'
import { StorekeeperError } from '../error.ts'
import { BASE62, checksum, NOT_FOUND } from '../verify/form.ts'
import { isAllowed, parseAddress } from './addresses.ts'
import { type Credits, newCredits, spend, spendsSomething, type Windows } from './spending.ts'

/** A key and what no answer shows of it. */
export type StoredKey = {
  record: Key
  /** The number of its secret, counted from 1. */
  secretNo: number
  credits: Credits | null
}

type StoredSecret = { keyId: string; no: number; endsAt: number | null }

export type Found = { stored: StoredKey; secret: StoredSecret }

export class FakeKeys {
  readonly keys = new Map<string, StoredKey>()
  readonly frozen = new Set<string>()
  readonly permissions: string[]
  readonly #secrets = new Map<string, StoredSecret>()
  readonly #windows: Windows = new Map()
  readonly #stores: readonly string[]
  readonly #now: () => number
  readonly #onChange: (id: string) => void

  constructor(
    stores: readonly string[],
    extraPermissions: readonly string[],
    now: () => number,
    onChange: (id: string) => void,
  ) {
    this.permissions = [...new Set([...BUILT_IN_PERMISSIONS, ...extraPermissions])]
    this.#stores = stores
    this.#now = now
    this.#onChange = onChange
  }

  // ---- verdicts -----------------------------------------------------------------------------------------------------

  /** `spends`: false for a question that only wants to know. */
  verdict(question: Verification, spends: boolean): Verdict {
    const found = this.find(question)
    const code = found ? this.#firstRefusal(found, question) : 'NOT_FOUND'
    const asked = [...(question.permissions ?? []), ...(question.anyPermissions ?? [])]
    const unknownPermissions = asked.filter((permission) => !this.permissions.includes(permission))
    const unknown = unknownPermissions.length > 0 ? { unknownPermissions } : {}
    if (!found || code === 'NOT_FOUND') return { ...NOT_FOUND, ...unknown }
    const { stored } = found
    const receipt =
      code === 'VALID' ? spend(stored.record, stored.credits, this.#windows, question, this.#now(), spends) : null
    const { code: outcome, ...left } = receipt ?? { code }
    if (outcome === 'VALID' && spends) stored.record.lastUsedAt = this.#iso()
    const { id, storeId, name, type, permissions, metadata, expiresAt, owner } = stored.record
    const shown = { keyId: id, storeId, name, type, permissions, metadata, expiresAt, owner, ...left, ...unknown }
    return structuredClone(
      outcome === 'VALID'
        ? ({ valid: true, code: outcome, ...shown } as ValidVerdict)
        : ({ valid: false, code: outcome, ...shown } as RefusedVerdict),
    )
  }

  /** The key of a question, whatever state it is in. Throws for a question that the service does not take. */
  find(question: Verification): Found | null {
    const stores = this.#storesOf(question)
    if (question.ip !== undefined && parseAddress(question.ip) === null) throw invalid('#/ip')
    if (question.types?.length === 0) throw invalid('#/types')
    if (question.anyPermissions?.length === 0) throw invalid('#/anyPermissions')
    const secret = this.#secrets.get(question.key)
    const stored = secret && this.keys.get(secret.keyId)
    return stored && stores.includes(stored.record.storeId) ? { stored, secret } : null
  }

  #storesOf({ storeId, anyStore }: Verification): readonly string[] {
    if (storeId !== undefined && anyStore !== undefined) throw invalid('#/anyStore')
    if (storeId !== undefined) return this.#stores.filter((store) => store === storeId)
    if (anyStore !== true && this.#stores.length !== 1) throw invalid('#/storeId')
    return this.#stores
  }

  #firstRefusal({ stored: { record }, secret }: Found, question: Verification): string {
    const at = this.#now()
    const { types, ip, permissions = [], anyPermissions } = question
    const holds = (permission: string) => record.permissions.includes(permission)
    if (secret.endsAt !== null && secret.endsAt <= at) return 'NOT_FOUND'
    if (record.revokedAt) return 'REVOKED'
    if (hasExpired(record, at)) return 'EXPIRED'
    if (!record.enabled) return 'DISABLED'
    if (this.frozen.has(record.storeId)) return 'FROZEN'
    if (types && !types.some((type) => type === record.type)) return 'WRONG_TYPE'
    if (record.ipAllowlist && (ip === undefined || !isAllowed(record.ipAllowlist, ip))) return 'FORBIDDEN_IP'
    return permissions.every(holds) && (!anyPermissions || anyPermissions.some(holds))
      ? 'VALID'
      : 'INSUFFICIENT_PERMISSIONS'
  }

  /** Whether a back end may keep the verdict: a key that spends something is asked for each time. */
  mayBeKept({ stored }: Found): boolean {
    return !spendsSomething(stored.record)
  }

  // ---- changes --------------------------------------------------------------------------------------------------------

  create(storeId: string, settings: Partial<NewKey>): KeyWithSecret {
    const { name = 'Test key', type = 'PROD', permissions = ['READ'] } = settings
    this.#checkPermissions(permissions)
    const at = this.#iso()
    const record: Key = {
      id: newId('key'),
      storeId,
      name,
      type,
      permissions: [...permissions],
      metadata: {},
      expiresAt: null,
      ipAllowlist: null,
      rateLimit: null,
      owner: null,
      credits: null,
      rateLimits: [],
      start: '',
      status: 'ACTIVE',
      enabled: true,
      createdAt: at,
      createdBy: { kind: 'system', id: 'fakeStorekeeper' },
      updatedAt: at,
      lastUsedAt: null,
      revokedAt: null,
      revocationReason: null,
      imported: false,
      rotation: null,
    }
    const { name: _, type: __, permissions: ___, ...rest } = settings
    Object.assign(record, settingsOf(rest))
    const stored = { record, secretNo: 1, credits: newCredits(record, this.#now()) }
    this.keys.set(record.id, stored)
    return this.#withNewSecret(stored)
  }

  update(id: string, changes: KeyChanges): Key {
    const before = this.show(id)
    if (changes.permissions) this.#checkPermissions(changes.permissions)
    const after = { ...before, ...settingsOf(changes) }
    if (changes.permissions) after.permissions = [...changes.permissions]
    // What changes nothing may be said of a key that has ended, too.
    if (JSON.stringify(after) === JSON.stringify(before)) return before
    const stored = this.#live(id)
    Object.assign(stored.record, after, { updatedAt: this.#iso() })
    if (changes.credits !== undefined) stored.credits = newCredits(stored.record, this.#now())
    this.#onChange(id)
    return this.show(id)
  }

  rotate(id: string, gracePeriodSeconds = 0): KeyWithSecret {
    const stored = this.#live(id)
    const { record } = stored
    const graceEnd = this.#now() + gracePeriodSeconds * 1000
    const endsAt = Math.min(graceEnd, record.expiresAt ? Date.parse(record.expiresAt) : graceEnd)
    for (const [value, secret] of this.#secrets) {
      if (secret.keyId !== id) continue
      if (secret.no === stored.secretNo && gracePeriodSeconds > 0) secret.endsAt = endsAt
      else this.#secrets.delete(value)
    }
    stored.secretNo += 1
    record.updatedAt = this.#iso()
    record.rotation =
      gracePeriodSeconds > 0
        ? { previousExpiresAt: new Date(endsAt).toISOString(), previousLastUsedAt: record.lastUsedAt }
        : null
    this.#onChange(id)
    return this.#withNewSecret(stored)
  }

  revoke(id: string, reason: string | null): Key {
    const { record } = this.#stored(id)
    record.revokedAt ??= this.#iso()
    record.revocationReason ??= reason
    this.#onChange(id)
    return this.show(id)
  }

  setFrozen(storeId: string, isFrozen: boolean): number {
    if (isFrozen) this.frozen.add(storeId)
    else this.frozen.delete(storeId)
    this.#onChange(storeId)
    return [...this.keys.values()].filter(({ record }) => record.storeId === storeId && !record.revokedAt).length
  }

  show(id: string): Key {
    const { record, credits } = this.#stored(id)
    const shown = structuredClone(record)
    if (shown.credits && credits) shown.credits.remaining = credits.remaining
    shown.status = this.#statusOf(record)
    return shown
  }

  #statusOf(record: Key): Key['status'] {
    if (record.revokedAt) return 'REVOKED'
    return hasExpired(record, this.#now()) ? 'EXPIRED' : record.enabled ? 'ACTIVE' : 'DISABLED'
  }

  #withNewSecret(stored: StoredKey): KeyWithSecret {
    const { record, secretNo: no } = stored
    const key = newSecret(record.type)
    record.start = key.slice(0, key.lastIndexOf('_') + 5)
    this.#secrets.set(key, { keyId: record.id, no, endsAt: null })
    return { ...this.show(record.id), key }
  }

  #stored(id: string): StoredKey {
    const stored = this.keys.get(id)
    if (!stored) throw new StorekeeperError('key_not_found', 'This store has no key with that id.', { status: 404 })
    return stored
  }

  #live(id: string): StoredKey {
    const stored = this.#stored(id)
    const status = this.#statusOf(stored.record)
    if (status === 'REVOKED') throw new StorekeeperError('key_revoked', 'The key was revoked.', { status: 409 })
    if (status === 'EXPIRED') throw new StorekeeperError('key_expired', 'The key has expired.', { status: 409 })
    return stored
  }

  #checkPermissions(permissions: readonly string[]): void {
    const unknown = permissions.filter((permission) => !this.permissions.includes(permission))
    if (unknown.length > 0)
      throw new TypeError(
        `fakeStorekeeper: name ${unknown.join(', ')} in "extraPermissions", as the service's settings do.`,
      )
  }

  #iso(): string {
    return new Date(this.#now()).toISOString()
  }
}

function invalid(pointer: string): StorekeeperError {
  const errors = [{ pointer, code: 'invalid', detail: 'The service does not take this question.' }]
  return new StorekeeperError('invalid_input', `Invalid input: ${pointer}`, { status: 422, errors })
}

function hasExpired({ expiresAt }: Key, at: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= at
}

/** As the record has them: moments as text, and nothing that was left out. */
function settingsOf({ permissions: _, ...settings }: KeyChanges): Partial<Key> {
  const given = Object.entries(structuredClone(settings)).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  ) as Partial<Key>
}

// ---- ids and secrets of the service's own form ------------------------------------------------------------------------

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'

export function newId(kind: string): string {
  return `${kind}_0${randomText(25, BASE32)}`
}

function newSecret(type: string): string {
  const body = `skp_${type.toLowerCase()}_${randomText(32, BASE62)}`
  return body + checksum(body)
}

/** For tests: a little less even than the service's. */
function randomText(length: number, alphabet: string): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => alphabet[byte % alphabet.length]).join('')
}
