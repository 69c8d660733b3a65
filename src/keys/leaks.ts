// A secret that became known. Anyone who holds its value may report it, and GitHub's secret scanning does so by itself.
// TEST and DEV keys are revoked at once. So are PROD keys, unless their store has chosen a grace: then the key's expiry is
// brought forward, and all that goes with an expiry (key.expiring, EXPIRED) does the rest. Until then the secret verifies,
// for the store's own back ends, but does not authenticate here; a new secret gives the key its own expiry back. A report
// counts once for each secret, so that it cannot undo a later decision of a manager. A deleted store can be restored with its
// keys, so reports reach it too. No back end depends on a key of such a store, which gets no grace.

import { type CachedKey, lookUpLeakedKey } from '../auth/cached-key.ts'
import { inStore } from '../auth/recheck.ts'
import { addMs, now, SECOND } from '../core/clock.ts'
import { groupBy } from '../core/group-by.ts'
import { KEY_TYPES } from '../core/key-types.ts'
import type { Answer } from '../core/route.ts'
import { newSemaphore } from '../core/semaphore.ts'
import { containsToken, isKeyToken, sha256 } from '../crypto/tokens.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { StoresRow } from '../db/tables.gen.ts'
import { waitForLock } from '../db/wait-for-lock.ts'
import { newEvent, SYSTEM, writeEvents } from '../events/write.ts'
import type { Instance } from '../instance.ts'
import { countLeakMail, MAX_LEAK_MAILS } from '../limits/mails.ts'
import { findMailReaders, queueMails } from '../mail/outbox.ts'
import { statusOf } from './columns.ts'
import { type LockedKey, lockKeys } from './read.ts'
import { revokeKeys } from './revoke.ts'
import type { GithubFeedback, GithubReports } from './schema.ts'

/** Where the report came from, for the event. */
type LeakSource = { source: 'report' } | { source: 'github'; url?: string }

/** The answer is the same for any text, a key of ours or not. */
export async function reportLeak(db: Db, instance: Instance, token: string): Promise<Answer<{ accepted: boolean }>> {
  const found = await findReported(db, instance, token.trim())
  if (found) await handleReport(db, instance, found, { source: 'report' })
  return { body: { accepted: true }, changedKeys: found ? [found.id] : [] }
}

/** Of the tokens that are looked up, and of the stores whose keys end. */
const AT_ONCE = 4

/**
 * One message may speak of many stores. If one of them cannot be changed now, the others are, and the message is to be sent
 * again. Each key is a transaction of its own.
 */
export async function reportLeaks(db: Db, instance: Instance, reports: GithubReports): Promise<Answer<GithubFeedback>> {
  const inPlace = newSemaphore(AT_ONCE, Number.POSITIVE_INFINITY)
  const found = await Promise.all(reports.map(({ token }) => inPlace(() => findReported(db, instance, token))))
  const leaks = reports.flatMap(({ url }, n) => {
    const key = found[n]
    return key ? [{ key, origin: { source: 'github', ...locationOf(instance, url) } as const }] : []
  })
  const byStore = [...groupBy(leaks, ({ key }) => key.store_id).values()]
  // When a key cannot be changed, the others of its store don't wait as long again.
  const handleStore = async (ofStore: typeof leaks) => {
    for (const { key, origin } of ofStore) await handleReport(db, instance, key, origin)
  }
  const handled = await Promise.allSettled(byStore.map((ofStore) => inPlace(() => handleStore(ofStore))))
  const failure = handled.find(({ status }) => status === 'rejected')
  if (failure?.status === 'rejected') throw failure.reason
  const body: GithubFeedback = reports.map(({ token, type }, n) => ({
    token_hash: sha256(token).toString('hex'),
    ...(type === undefined ? {} : { token_type: type }),
    label: found[n] ? 'true_positive' : 'false_positive',
  }))
  return { body, changedKeys: leaks.map(({ key }) => key.id) }
}

/** The key that the token is, or was, a secret of. Text that does not have a key's form costs no query. */
async function findReported(db: Db, instance: Instance, token: string): Promise<CachedKey | null> {
  return isKeyToken(instance.keyPrefix, token) ? lookUpLeakedKey(db, instance.keyring, token) : null
}

function handleReport(db: Db, instance: Instance, found: CachedKey, origin: LeakSource): Promise<void> {
  return inStore(db, SYSTEM, found.store_id, (tx) => applyLeak(tx, instance, found, origin))
}

async function applyLeak(tx: Db, instance: Instance, found: CachedKey, origin: LeakSource): Promise<void> {
  const store = await waitForLock(tx, () =>
    tx.one<Pick<StoresRow, 'name' | 'leak_grace_seconds' | 'deleted_at'>>(sql`
      select name, leak_grace_seconds, deleted_at
        from stores
       where id = ${found.store_id}
         for no key update`),
  )
  // Neither is there when the store is being purged.
  const [key] = store ? await lockKeys(tx, found.store_id, [found.id], sql`true`) : []
  const at = now()
  if (!store || !key || !isFirstReport(key, found.secret_no, at)) return
  const hasGrace = KEY_TYPES[key.type].leakGrace && store.deleted_at === null
  const graceMs = hasGrace ? store.leak_grace_seconds * SECOND : 0
  const end = addMs(at, graceMs)
  const action = actionOn(key, graceMs, end, at)
  await tx.query(sql`
    update api_keys
       set leaked_at = ${at}, leaked_secret_no = ${found.secret_no}
     where id = ${key.id}`)
  const expiresAt = action === 'shortened' ? end : key.expires_at
  const data = action === 'revoked' ? { ...origin, action } : { ...origin, action, expiresAt }
  await writeEvents(tx, [newEvent(SYSTEM, key.store_id, 'key.leaked', key.id, data)])
  if (action === 'revoked') await revokeKeys(tx, SYSTEM, key.store_id, [key.id], 'leaked', 'expired too')
  if (action === 'shortened') await shortenLife(tx, key, end, at)
  await tellLeak(tx, instance, key, store.name, OUTCOMES[action])
}

const OUTCOMES = {
  revoked: 'The key was revoked immediately.',
  shortened: 'The key now expires earlier, as the store has configured. It keeps working until then.',
  none: 'The key had already expired or been revoked, or was about to expire.',
}

/**
 * Its maker, while a member, and the owners of the store. Who may create keys may report them, any number of them: each reader
 * gets a few mails a day about a store, and the last of these says that there are no more.
 */
async function tellLeak(tx: Db, instance: Instance, key: LockedKey, store: string, outcome: string): Promise<void> {
  if (!instance.mail) return
  const readers = sql`
    id in (select user_id
             from members
            where store_id = ${key.store_id}
              and (role = 'OWNER' or user_id = ${key.created_by_id}))`
  for (const { id, email } of await findMailReaders(tx, readers, 'leakedKeys')) {
    const left = await countLeakMail(tx, instance, key.store_id, id)
    if (left === null) continue
    const max = left === 0 ? { max: String(MAX_LEAK_MAILS) } : {}
    const data = { key: key.name, start: key.start, store, outcome, ...max }
    await queueMails(tx, instance, [{ kind: 'key_leaked', to: email, data }])
  }
}

/** A report counts for a secret that still works or is the newest, unless it or a newer one was reported before. */
function isFirstReport(key: LockedKey, secretNo: number, at: Date): boolean {
  const { secret_no: current, previous_expires_at: graceEnd, leaked_secret_no: reported } = key
  const previousWorks = secretNo === current - 1 && graceEnd !== null && graceEnd > at
  return (secretNo === current || previousWorks) && (reported === null || reported < secretNo)
}

function actionOn(key: LockedKey, graceMs: number, end: Date, at: Date): 'revoked' | 'shortened' | 'none' {
  const status = statusOf(key, at)
  if (status === 'REVOKED' || status === 'EXPIRED') return 'none'
  if (graceMs === 0) return 'revoked'
  return key.expires_at !== null && key.expires_at <= end ? 'none' : 'shortened'
}

/** No manager chose this expiry, so all of its notices are sent, however near it is. */
async function shortenLife(tx: Db, key: LockedKey, end: Date, at: Date): Promise<void> {
  await tx.query(sql`
    update api_keys
       set expires_at = ${end},
           leak_shortened = true,
           -- Two secrets may leak one after the other: what the first report found is what a rotation gives back.
           expires_before_leak = case when leak_shortened then expires_before_leak else ${key.expires_at}::timestamptz end,
           expiry_notice_days = null,
           updated_at = ${at},
           revision = ${key.revision + 1}
     where id = ${key.id}`)
}

const MAX_URL_CHARACTERS = 2_048

/** The URL at which GitHub found the key, if it is one of the web and holds no key itself. */
function locationOf(instance: Instance, url: string | null | undefined): { url?: string } {
  if (!url || url.length > MAX_URL_CHARACTERS || !URL.canParse(url)) return {}
  const { protocol, username, password, href } = new URL(url)
  const isWeb = (protocol === 'https:' || protocol === 'http:') && username === '' && password === ''
  return isWeb && !containsToken(instance.keyPrefix, href) && href.length <= MAX_URL_CHARACTERS ? { url: href } : {}
}
