// Signing in with the identity provider. The user is (issuer, subject), the same one that the provider's access tokens
// mean. At first sight an account with the same e-mail becomes that user, if both sides have confirmed the e-mail;
// otherwise a new user is made.

import { evictFederatedUser, findOrCreateFederatedUser, followProfile } from '../auth/federated-user.ts'
import type { OidcClient, ProviderIdentity, SignInAttempt } from '../auth/schema.ts'
import { endUserTokens } from '../auth/user-tokens.ts'
import { MINUTE, now, nowMs } from '../core/clock.ts'
import { Failure, fail } from '../core/errors.ts'
import { randomBytes } from '../crypto/random.ts'
import type { Db } from '../db/db.ts'
import { violatedConstraint } from '../db/errors.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import { type Actor, newEvent, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { queueMailsTo } from '../mail/outbox.ts'
import { spendChallenge } from './challenge.ts'
import { ATTEMPT_MS, attemptCookie, readAttempt } from './cookies.ts'
import { hasFactor, readFactors } from './factors.ts'
import { forgetPlaces, isKnownPlace } from './places.ts'
import { endAllSessions } from './reset.ts'
import { type ClientOrigin, type NewSession, openSession } from './sessions.ts'
import { tellNewSignIn } from './sign-in.ts'

/** The clocks of the provider and of this node may differ by so much. */
const CLOCK_TOLERANCE_MS = MINUTE / 2

export function newAttempt(fresh: boolean, returnTo: string): SignInAttempt {
  const random = () => Buffer.from(randomBytes(32)).toString('base64url')
  return { state: random(), nonce: random(), verifier: random(), fresh, returnTo, startedAt: nowMs() }
}

/** The browser is back from the provider. What was begun here can be finished only once: a failure removes its cookie too. */
export async function finishSignIn(
  db: Db,
  instance: Instance,
  oidc: OidcClient,
  response: URLSearchParams,
  cookies: string | undefined,
  from: ClientOrigin,
): Promise<{ session: NewSession; returnTo: string }> {
  const attempt = readAttempt(instance, cookies)
  // Another tab may have begun a sign-in of its own, which stays possible.
  if (attempt === null || response.get('state') !== attempt.state) return fail('sign_in_incomplete')
  try {
    // Not every provider refuses a code that it has seen before.
    const expiresAt = new Date(attempt.startedAt + ATTEMPT_MS)
    if (!(await spendChallenge(db, { text: attempt.state, expiresAt }))) fail('sign_in_incomplete')
    const identity = await oidc.identify(response, attempt)
    if (attempt.fresh) checkFresh(identity, attempt)
    return { session: await signInAs(db, instance, identity, from), returnTo: attempt.returnTo }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const headers = { 'set-cookie': attemptCookie(instance, null) }
    throw new Failure(error.code, { ...error.details, headers })
  }
}

/** Not every provider heeds `max_age`, so it must say that the person signed in since they set out. */
function checkFresh({ authenticatedAt }: ProviderIdentity, { startedAt }: SignInAttempt): void {
  if (authenticatedAt === null || authenticatedAt.getTime() < startedAt - CLOCK_TOLERANCE_MS)
    fail('recent_sign_in_required', { detail: 'The identity provider did not confirm a new sign-in.' })
}

async function signInAs(
  db: Db,
  instance: Instance,
  identity: ProviderIdentity,
  from: ClientOrigin,
): Promise<NewSession> {
  await joinAccount(db, instance, identity, from)
  const { issuer, subject, email, name } = identity
  const profile = { email, emailVerified: email !== null, name, issuedAt: now() }
  const userId = await findOrCreateFederatedUser(db, instance, { issuer, subject, profile }, from.ip)
  await followProfile(db, instance, userId, profile, from.ip)
  const session = await openFor(db, instance, userId, identity, from)
  if (session) return session
  // The user was erased or unlinked since this node cached the id, or just now: the same subject gets a new user.
  evictFederatedUser(instance, userId)
  return signInAs(db, instance, identity, from)
}

/**
 * Joins an account with the person whom the provider vouches for, unless they are a user already. Only an account that has
 * confirmed its e-mail is found here: whoever has merely written somebody's e-mail into an account gets nothing.
 */
async function joinAccount(
  db: Db,
  instance: Instance,
  { issuer, subject, email }: ProviderIdentity,
  from: ClientOrigin,
): Promise<void> {
  if (email === null) return
  try {
    await db.transaction(async (tx) => {
      const account = await tx.one<Pick<UsersRow, 'id' | 'disabled_at' | 'email_proven'>>(sql`
        select id, disabled_at, email_proven
          from users
         where email = ${email}
           and email_verified_at is not null
           and password_hash is not null
           and issuer is null
           and not exists (select from users known where known.issuer = ${issuer} and known.subject = ${subject})
           for update`)
      if (!account) return
      if (account.disabled_at) refuse()
      // Its owner has asked for more than a password: a provider's word alone does not open it. Read under the lock.
      if (hasFactor(await readFactors(tx, account.id))) return
      await tx.query(sql`
        update users
           set issuer = ${issuer}, subject = ${subject}, updated_at = ${now()}
         where id = ${account.id}`)
      const actor = { kind: 'user' as const, id: account.id, ip: from.ip }
      if (!account.email_proven) await endWaysIn(tx, actor, account.id)
      await writeEvents(tx, [newEvent(actor, null, 'user.provider_linked', account.id, { issuer })])
      const provider = new URL(issuer).host
      const data = {
        at: now().toISOString(),
        ip: from.ip,
        provider,
        password: account.email_proven ? 'kept' : 'removed',
      }
      await queueMailsTo(tx, instance, sql`id = ${account.id}`, null, { kind: 'provider_linked', data })
    })
  } catch (error) {
    // Their first request elsewhere has made the user at this very moment.
    if (violatedConstraint(error) !== 'users_subject_key') throw error
  }
}

/**
 * Somebody else may have made the account, with an e-mail that its owner then confirmed by mistake: from now on only the one whom
 * the provider vouches for gets in.
 */
async function endWaysIn(tx: Db, actor: Actor, userId: string): Promise<void> {
  await tx.query(sql`
    update users
       set password_hash = null
     where id = ${userId}`)
  await endAllSessions(tx, actor, userId)
  await endUserTokens(tx, userId)
  await forgetPlaces(tx, userId)
}

type SignInRow = Pick<UsersRow, 'disabled_at'> & { is_new_place: boolean }

/**
 * Null when the user was erased or unlinked. Locked, so that sign-ins of one user come one at a time and none outlives a
 * `disable`.
 */
async function openFor(
  db: Db,
  instance: Instance,
  userId: string,
  identity: ProviderIdentity,
  from: ClientOrigin,
): Promise<NewSession | null> {
  return db.transaction(async (tx) => {
    const user = await tx.one<SignInRow>(sql`
      select disabled_at, not ${isKnownPlace(instance, from.ip)} as is_new_place
        from users
       where id = ${userId}
         and issuer = ${identity.issuer}
         and subject = ${identity.subject}
         and erased_at is null
         for no key update`)
    if (!user) return null
    if (user.disabled_at) refuse()
    if (user.is_new_place) await tellNewSignIn(tx, instance, userId, from, 'oidc')
    const { authenticatedAt, claimedEmail } = identity
    const by = { method: 'oidc' as const, authenticatedAt, claimedEmail }
    return openSession(tx, instance, userId, from, by)
  })
}

function refuse(): never {
  fail('sign_in_refused', { detail: "You can't sign in here. Contact the operator of this service." })
}
