// Passkeys of an account: registering, listing, removing and using them.

import { unwrapDataKey } from '../auth/data-key.ts'
import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import type { UserCaller } from '../core/caller.ts'
import { now } from '../core/clock.ts'
import { type Fault, fail, failInput } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import { seal, unseal } from '../crypto/seal.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { PasskeysRow } from '../db/tables.gen.ts'
import { destroyReplayableSecrets } from '../idempotency/idempotency.ts'
import type { Instance } from '../instance.ts'
import { newChallenge, openChallenge, spendChallenge } from './challenge.ts'
import { checkHasPassword, disableFactor, enableFactor, lockFactors } from './factor-changes.ts'
import type { AddedPasskey, Assertion, Attestation } from './factor-schema.ts'
import { writeRecoveryCodes } from './recovery-codes.ts'
import type { Passkey } from './schema.ts'
import {
  creationOptions,
  describePasskeys,
  loadWebAuthn,
  type NewCredential,
  readClientData,
  type StoredCredential,
  verifyAssertion,
  verifyAttestation,
} from './webauthn.ts'

const MAX_PASSKEYS = 20

export async function newPasskeyOptions(db: Db, instance: Instance, caller: UserCaller) {
  await checkRecentSignIn(db, caller)
  await checkHasPassword(db, caller)
  // The library is loaded before any transaction, which would have to wait for it.
  await loadWebAuthn()
  const challenge = newChallenge(instance.keyring, 'register', { userId: caller.id, sessionId: caller.sessionId })
  return creationOptions(instance, caller, challenge.text, await describePasskeys(db, caller.id))
}

export async function addPasskey(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  { name, credential }: { name: string; credential: Attestation },
): Promise<AddedPasskey> {
  await checkRecentSignIn(tx, caller)
  await checkHasPassword(tx, caller)
  const challenge = openChallenge(instance.keyring, 'register', readClientData(credential).challenge)
  const isTheirs = challenge?.bound.userId === caller.id && challenge.bound.sessionId === caller.sessionId
  const verified = challenge && isTheirs ? await verifyAttestation(instance, credential, challenge.text) : null
  const before = await lockFactors(tx, caller)
  if (!challenge || !verified || !(await spendChallenge(tx, challenge))) return failInput([NOT_ACCEPTED])
  if (before.passkeys >= MAX_PASSKEYS)
    fail('limit_exceeded', { detail: `You already have ${MAX_PASSKEYS} passkeys. Remove one that you no longer use.` })
  const id = newId('passkey')
  await enableFactor(tx, instance, caller, before, { method: 'passkey', passkeyId: id })
  if (!(await insertPasskey(tx, instance, caller, id, name, verified))) return failInput([NOT_ACCEPTED])
  const recoveryCodes = before.recovery_codes === 0 ? await writeRecoveryCodes(tx, instance, caller, true) : null
  return { id, name, backedUp: verified.backed_up, createdAt: now().toISOString(), lastUsedAt: null, recoveryCodes }
}

const NOT_ACCEPTED: Fault = {
  pointer: '#/credential',
  code: 'passkey_not_accepted',
  detail:
    "This passkey can't be added: it was already added, or its response is invalid or too old. Request new options and try again.",
}

/** False when the credential is known already. */
async function insertPasskey(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  id: string,
  name: string,
  { credential_id: credentialId, public_key: publicKey, signCount, transports, backed_up: backedUp }: NewCredential,
): Promise<boolean> {
  const sealedName = seal(unwrapDataKey(instance.keyring, caller), name, id)
  const rows = await tx.query(sql`
    insert into passkeys (id, user_id, credential_id, public_key, sign_count, transports, backed_up, sealed_name, created_at)
    values (${id}, ${caller.id}, ${credentialId}, ${publicKey}, ${signCount}, ${transports}, ${backedUp}, ${sealedName},
            ${now()})
        on conflict (credential_id) do nothing
 returning id`)
  return rows.length > 0
}

type PasskeyRow = Pick<PasskeysRow, 'id' | 'sealed_name' | 'backed_up' | 'created_at' | 'last_used_at'>

export function listPasskeys(
  db: Db,
  instance: Instance,
  caller: UserCaller,
  query: PageParams,
): Promise<Page<Passkey>> {
  return listPage({
    keyring: instance.keyring,
    list: ['passkeys', caller.id],
    query,
    read: ({ after, take }) => readPasskeys(db, caller.id, after, take),
    positionOf: (row) => row.id,
    show: (row) => showPasskey(instance, caller, row),
  })
}

export function readPasskeys(db: Db, userId: string, below: string, take: number): Promise<PasskeyRow[]> {
  return db.query<PasskeyRow>(sql`
    select id, sealed_name, backed_up, created_at, last_used_at
      from passkeys
     where user_id = ${userId}
       and id < ${below}
     order by id desc
     limit ${take}`)
}

export function showPasskey(instance: Instance, caller: UserCaller, row: PasskeyRow): Passkey {
  return {
    id: row.id,
    name: unseal(unwrapDataKey(instance.keyring, caller), row.sealed_name, row.id).toString(),
    backedUp: row.backed_up,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
  }
}

export async function removePasskey(tx: Db, instance: Instance, caller: UserCaller, passkeyId: string): Promise<void> {
  await checkRecentSignIn(tx, caller)
  await lockFactors(tx, caller)
  const removed = await tx.query(sql`
    delete from passkeys
     where id = ${passkeyId}
       and user_id = ${caller.id}
 returning id`)
  if (removed.length === 0) fail('passkey_not_found')
  await destroyReplayableSecrets(tx, [passkeyId])
  await disableFactor(tx, instance, caller, { method: 'passkey', passkeyId })
}

export type UsedPasskey = { id: string; userId: string; signCount: number; backedUp: boolean }

/** Finds the passkey and checks what it has signed. Null: it is unknown, or its signature is not right. */
export async function checkPasskey(
  db: Db,
  instance: Instance,
  credential: Assertion,
  challenge: string,
): Promise<UsedPasskey | null> {
  const stored = await db.one<StoredCredential & Pick<PasskeysRow, 'id' | 'user_id'>>(sql`
    select id, user_id, credential_id, public_key, sign_count
      from passkeys
     where credential_id = ${Buffer.from(credential.id, 'base64url')}`)
  const used = stored && (await verifyAssertion(instance, credential, challenge, stored))
  return used && { id: stored.id, userId: stored.user_id, ...used }
}

/** False when the passkey was removed meanwhile, or somebody has used it to the same count: then there are two of it. */
export async function markPasskeyUsed(tx: Db, { id, signCount, backedUp }: UsedPasskey): Promise<boolean> {
  const rows = await tx.query(sql`
    update passkeys
       set sign_count = ${signCount}, backed_up = ${backedUp}, last_used_at = ${now()}
     where id = ${id}
       and (sign_count < ${signCount} or (sign_count = 0 and ${signCount} = 0))
 returning id`)
  return rows.length > 0
}
