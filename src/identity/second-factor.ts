// The second step of a sign-in, and signing in with a passkey alone, which is both steps at once: something one has, and
// the finger or PIN that it has checked.

import type { WrappedKey } from '../auth/data-key.ts'
import { ago, DAY } from '../core/clock.ts'
import { fail } from '../core/errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { type Attempt, failTooMany, limitAttempts } from '../limits/attempts.ts'
import { type Challenge, newChallenge, openChallenge, spendChallenge } from './challenge.ts'
import { tellFactorChange } from './factor-changes.ts'
import type { Assertion } from './factor-schema.ts'
import { checkPasskey, markPasskeyUsed, type UsedPasskey } from './passkeys.ts'
import { isKnownPlace } from './places.ts'
import { useRecoveryCode } from './recovery-codes.ts'
import type { SignInMethod } from './schema.ts'
import { fingerprint } from './second-step.ts'
import { type ClientOrigin, type NewSession, openSession } from './sessions.ts'
import { tellNewSignIn } from './sign-in.ts'
import { digitsOf, useTotpCode } from './totp.ts'
import { readClientData, requestOptions, toUserHandle } from './webauthn.ts'

type SecondStep = Challenge<'second-factor'>

export type GivenFactor = { challenge: string; code: string } | { challenge: string; credential: Assertion }

export async function completeSignIn(
  db: Db,
  instance: Instance,
  given: GivenFactor,
  from: ClientOrigin,
): Promise<NewSession> {
  const step = openChallenge(instance.keyring, 'second-factor', given.challenge) ?? fail('invalid_challenge')
  if ('code' in given) return completeWithCode(db, instance, step, given.code, from)
  const passkey = await checkPasskey(db, instance, given.credential, step.text)
  if (passkey?.userId !== step.bound.userId) return fail('invalid_passkey')
  return db.transaction(async (tx) => {
    const { isKnown } = await lockStep(tx, instance, step, from)
    if (!(await markPasskeyUsed(tx, passkey))) fail('invalid_passkey')
    return open(tx, instance, step, step.bound.userId, isKnown, from)
  })
}

/** A failure is committed before it is answered. */
async function completeWithCode(
  db: Db,
  instance: Instance,
  step: SecondStep,
  code: string,
  from: ClientOrigin,
): Promise<NewSession> {
  const tried = await db.transaction(async (tx) => {
    const { userId } = step.bound
    const place = await tx.one<{ is_known: boolean }>(sql`
      select ${isKnownPlace(instance, from.ip)} as is_known
        from users
       where id = ${userId}`)
    const attempt = { account: userId, ip: from.ip, known: place?.is_known ?? false }
    const { retryAfterSeconds, count } = await limitAttempts(tx, instance, 'secondFactor', attempt)
    if (retryAfterSeconds !== null) return retryAfterSeconds
    const { key, isKnown } = await lockStep(tx, instance, step, from)
    const isRight = /^\d{6}$/.test(digitsOf(code))
      ? await useTotpCode(tx, instance, key, code)
      : await useRecoveryCode(tx, instance, key, code, from.ip)
    if (isRight) return open(tx, instance, step, userId, isKnown, from)
    await count()
    await warnOfGuessing(tx, instance, attempt)
    return 'wrong'
  })
  if (typeof tried === 'number') return failTooMany(tried, 'wrong codes')
  return tried === 'wrong' ? fail('invalid_code') : tried
}

/** Once a day: too many wrong codes followed a right password, which somebody else may know. */
async function warnOfGuessing(tx: Db, instance: Instance, attempt: Attempt): Promise<void> {
  const { retryAfterSeconds } = await limitAttempts(tx, instance, 'secondFactor', attempt)
  if (retryAfterSeconds === null) return
  const { account: userId, ip } = attempt
  const told = await tx.one(sql`
    select id
      from events
     where subject = ${userId}
       and subject ^@ 'user_'
       and type = 'user.second_factor_guessed'
       and at > ${ago(DAY)}
     limit 1`)
  if (told) return
  await writeEvents(tx, [newEvent(SYSTEM, null, 'user.second_factor_guessed', userId, {})])
  await tellFactorChange(tx, instance, userId, ip, 'guessed')
}

/**
 * Keeps the account as it is until the session is open: the password is the one that was given, and it is not disabled. Sign-ins
 * of the account come one at a time.
 */
async function lockStep(
  tx: Db,
  instance: Instance,
  { bound }: SecondStep,
  from: ClientOrigin,
): Promise<{ key: WrappedKey; isKnown: boolean }> {
  const user = await tx.one<
    Pick<UsersRow, 'id' | 'password_hash'> & { data_key: Buffer; data_key_kid: string; is_known: boolean }
  >(sql`
    select id, password_hash, data_key, data_key_kid, ${isKnownPlace(instance, from.ip)} as is_known
      from users
     where id = ${bound.userId}
       and erased_at is null
       and disabled_at is null
       for no key update`)
  if (!user || fingerprint(user.password_hash) !== bound.password) return fail('invalid_challenge')
  return { key: { id: user.id, dataKey: user.data_key, dataKeyKid: user.data_key_kid }, isKnown: user.is_known }
}

export function passkeyOptions(instance: Instance) {
  return requestOptions(instance, newChallenge(instance.keyring, 'passkey', {}).text)
}

/** A passkey that is unknown, whose account is disabled, or that has signed something else: all look the same. */
export async function signInWithPasskey(
  db: Db,
  instance: Instance,
  credential: Assertion,
  from: ClientOrigin,
): Promise<NewSession> {
  const challenge = openChallenge(instance.keyring, 'passkey', readClientData(credential).challenge)
  const passkey = challenge && (await checkPasskey(db, instance, credential, challenge.text))
  if (!passkey || credential.response.userHandle !== toUserHandle(passkey.userId)) return fail('invalid_passkey')
  return db.transaction((tx) => openWithPasskey(tx, instance, challenge, passkey, from))
}

async function openWithPasskey(
  tx: Db,
  instance: Instance,
  challenge: Challenge<'passkey'>,
  passkey: UsedPasskey,
  from: ClientOrigin,
): Promise<NewSession> {
  const user = await tx.one<{ is_known: boolean }>(sql`
    select ${isKnownPlace(instance, from.ip)} as is_known
      from users
     where id = ${passkey.userId}
       and erased_at is null
       and disabled_at is null
       for no key update`)
  if (!user || !(await markPasskeyUsed(tx, passkey))) return fail('invalid_passkey')
  return open(tx, instance, challenge, passkey.userId, user.is_known, from, 'passkey')
}

/** A challenge that was used already takes everything back that its second use has written. */
async function open(
  tx: Db,
  instance: Instance,
  challenge: Challenge<'passkey' | 'second-factor'>,
  userId: string,
  isKnown: boolean,
  from: ClientOrigin,
  method: SignInMethod = 'password',
): Promise<NewSession> {
  if (!(await spendChallenge(tx, challenge))) fail('invalid_challenge')
  if (!isKnown) await tellNewSignIn(tx, instance, userId, from)
  return openSession(tx, instance, userId, from, { method, authenticatedAt: null })
}
