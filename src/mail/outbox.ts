// Mails that are still to be sent. They are written in the transaction that caused them: what was committed is mailed, and
// what was rolled back is not. A row is deleted once its mail was sent, and with it the token of its link, which is sealed
// until then.

import { addMs, DAY, fromNow, now } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { type Keyring, keysById } from '../crypto/keyring.ts'
import { seal, unseal } from '../crypto/seal.ts'
import { Secret } from '../crypto/secret.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import type { MailsRow, UsersRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import type { MailSwitch } from './schema.ts'
import type { MailData, MailKind } from './texts.ts'

/** A mail that cannot be sent for this long is given up. */
const MAX_AGE_MS = DAY

export type NewMail = {
  kind: MailKind
  to: string
  data?: MailData
  /** The token of its link, and when that ends. */
  link?: { token: Secret; expiresAt: Date }
}

/** Does nothing where no mail is configured. */
export async function queueMails(tx: Db, instance: Instance, mails: NewMail[]): Promise<void> {
  if (!instance.mail) return
  for (const { kind, to, data = {}, link } of mails) {
    const id = newId('mail')
    const end = fromNow(MAX_AGE_MS)
    const expiresAt = link && link.expiresAt < end ? link.expiresAt : end
    const sealed = link ? sealToken(instance.keyring, id, link.token) : { token: null, kid: null }
    await tx.query(sql`
      insert into mails (id, kind, recipient, data, token, token_kid, created_at, next_attempt_at, expires_at)
      values (${id}, ${kind}, ${to}, ${JSON.stringify(data)}, ${sealed.token}, ${sealed.kid}, ${now()}, ${now()},
              ${expiresAt})`)
  }
}

type MailReader = Pick<UsersRow, 'id'> & { email: NonNullable<UsersRow['email']> }

/**
 * Those of the users who have confirmed their e-mail and have not switched such mails off. (Null: they cannot.) An e-mail
 * that was not confirmed may be a stranger's, who is not to be bothered.
 */
export function findMailReaders(tx: Db, users: Sql, switchName: MailSwitch | null): Promise<MailReader[]> {
  return tx.query<MailReader>(sql`
    select id, email
      from users
     where ${users}
       and email is not null
       and email_verified_at is not null
       and disabled_at is null
       and not coalesce(${switchName} = any(mail_off), false)
     order by id`)
}

/** The same mail to all of them who read such mails. */
export async function queueMailsTo(
  tx: Db,
  instance: Instance,
  users: Sql,
  switchName: MailSwitch | null,
  mail: Pick<NewMail, 'kind' | 'data'>,
): Promise<void> {
  if (!instance.mail) return
  const readers = await findMailReaders(tx, users, switchName)
  await queueMails(
    tx,
    instance,
    readers.map(({ email }) => ({ ...mail, to: email })),
  )
}

export type QueuedMail = Pick<MailsRow, 'id' | 'recipient' | 'attempts' | 'expires_at'> & {
  kind: MailKind
  data: MailData
  token: Buffer | null
  token_kid: string | null
}

/**
 * Takes mails that are due, for as long as sending one may take. Mails about leaked keys come after all that somebody waits for,
 * and notices about expiring keys after those.
 */
export function leaseMails(db: Db, count: number, leaseMs: number): Promise<QueuedMail[]> {
  return db.query<QueuedMail>(sql`
    update mails
       set next_attempt_at = ${fromNow(leaseMs)}, attempts = attempts + 1
     where id = any(array(
             select id
               from mails
              where next_attempt_at <= ${now()}
              order by case when kind in ('key_expiring', 'keys_expiring') then 2 when kind = 'key_leaked' then 1 else 0 end,
                       next_attempt_at
              limit ${count}
                for update skip locked
           ))
 returning id, kind, recipient, data, token, token_kid, attempts, expires_at`)
}

export async function deleteMail(db: Db, id: string): Promise<void> {
  await db.query(sql`delete from mails where id = ${id}`)
}

export async function postponeMail(db: Db, id: string, ms: number): Promise<void> {
  await db.query(sql`update mails set next_attempt_at = ${addMs(now(), ms)} where id = ${id}`)
}

/** Of an erased user: what was not sent yet is not sent. */
export async function deleteMailsTo(tx: Db, email: string | null): Promise<void> {
  await tx.query(sql`delete from mails where recipient = ${email}`)
}

function sealToken({ current }: Keyring, mailId: string, token: Secret): { token: Buffer; kid: string } {
  return { token: seal(current.hmac('mail-token', mailId), token.reveal(), mailId), kid: current.kid }
}

/** Null when the server secret that it was sealed under is no longer configured. */
export function openToken(keyring: Keyring, { id, token, token_kid }: QueuedMail): Secret | null {
  const keys = token_kid === null ? null : keysById(keyring, token_kid)
  return keys && token ? new Secret(unseal(keys.hmac('mail-token', id), token, id).toString()) : null
}

/** Adds the token that a mail was queued without. */
export async function addToken(
  tx: Db,
  keyring: Keyring,
  mail: QueuedMail,
  { token, expiresAt }: { token: Secret; expiresAt: Date },
): Promise<void> {
  const sealed = sealToken(keyring, mail.id, token)
  await tx.query(sql`
    update mails
       set token = ${sealed.token}, token_kid = ${sealed.kid}, expires_at = ${expiresAt}
     where id = ${mail.id}`)
}
