// Sends what is in the outbox, each mail at least once. A lease moves `next_attempt_at` ahead: if this node dies while it
// sends, another finds the mail due again. A repeated mail has the same Message-ID, by which mail programs see that it is
// one. What the mail server does not take is tried again, at growing intervals, until the mail is out of date.

import { setTimeout as sleep } from 'node:timers/promises'
import { issueUserToken } from '../auth/user-tokens.ts'
import type { Config } from '../config.ts'
import { HOUR, MINUTE, now, SECOND } from '../core/clock.ts'
import type { ReportFailure } from '../core/failures.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { UsersRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { addToken, deleteMail, leaseMails, openToken, postponeMail, type QueuedMail } from './outbox.ts'
import { writeLetter } from './texts.ts'
import { isRefusedForGood, MAX_SENDING_MS, type MailTransport, newMailTransport } from './transport.ts'

export type Mailer = {
  /** To be called when there may be something to send. */
  wake(): void
  /** Begins nothing more, and gives mails in flight `patienceMs` to end. */
  close(patienceMs: number): Promise<void>
}

export type MailerTimings = {
  /** Between two looks into the outbox when nobody wakes the mailer. */
  idleMs: number
  /** After the first failure, the second, and so on; the last for all that follow. */
  backoffMs: number[]
}

const TIMINGS: MailerTimings = { idleMs: 5 * SECOND, backoffMs: [10 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR] }

/** Each is a connection to the mail server. */
const AT_ONCE = 5
const LEASE_MS = 2 * MAX_SENDING_MS

type MailerState = { db: Db; instance: Instance; transport: MailTransport; failed: ReportFailure; backoffMs: number[] }

/** Null where no mail is configured. The settings are refused when they are incomplete. */
export function startMail(
  { SMTP_URL: server, MAIL_FROM: from }: Pick<Config, 'SMTP_URL' | 'MAIL_FROM'>,
  db: Db,
  instance: Instance,
  failed: ReportFailure,
  timings: Partial<MailerTimings> = {},
): Mailer | null {
  if (server === null || from === null) return null
  return startMailer(db, instance, newMailTransport(server.url, from, server.isLoopback), failed, timings)
}

function startMailer(
  db: Db,
  instance: Instance,
  transport: MailTransport,
  failed: ReportFailure,
  timings: Partial<MailerTimings>,
): Mailer {
  const { idleMs, backoffMs } = { ...TIMINGS, ...timings }
  const state: MailerState = { db, instance, transport, failed, backoffMs }
  let isClosing = false
  let isWoken = false
  let resume = () => {}
  const pause = async () => {
    if (isWoken || isClosing) return
    const timer = setTimeout(() => resume(), idleMs).unref()
    await new Promise<void>((resolve) => {
      resume = resolve
    })
    clearTimeout(timer)
  }
  const run = async () => {
    while (!isClosing) {
      isWoken = false
      const found = await sendRound(state).catch((error) => {
        if (!isClosing) failed('mail', error)
        return 0
      })
      if (found < AT_ONCE) await pause()
    }
  }
  const running = run()
  return {
    wake() {
      isWoken = true
      resume()
    },
    async close(patienceMs) {
      isClosing = true
      resume()
      await Promise.race([running, sleep(patienceMs, undefined, { ref: false })])
    },
  }
}

/** How many mails were due. */
async function sendRound(state: MailerState): Promise<number> {
  const mails = await leaseMails(state.db, AT_ONCE, LEASE_MS)
  await Promise.all(mails.map((mail) => sendOne(state, mail)))
  return mails.length
}

async function sendOne(state: MailerState, mail: QueuedMail): Promise<void> {
  const { db, transport, failed, backoffMs } = state
  try {
    const message = mail.expires_at > now() ? await toMessage(state, mail) : null
    if (message) await transport.send(message)
    await deleteMail(db, mail.id)
  } catch (error) {
    failed('mail', error)
    const wait = backoffMs[Math.min(mail.attempts, backoffMs.length) - 1] ?? HOUR
    await (isRefusedForGood(error) ? deleteMail(db, mail.id) : postponeMail(db, mail.id, wait))
  }
}

/** Null for a mail that nobody should get: to an e-mail without an account, or with a token that cannot be opened. */
async function toMessage({ db, instance }: MailerState, mail: QueuedMail) {
  const publicUrl = instance.publicUrl ?? ''
  const token =
    mail.kind === 'reset' && mail.token === null
      ? await addResetToken(db, instance, mail)
      : openToken(instance.keyring, mail)
  if (token === null && (mail.kind === 'reset' || mail.token !== null)) return null
  const letter = writeLetter(mail.kind, mail.data, { name: instance.name, publicUrl }, token?.reveal() ?? null)
  return { messageId: `<${mail.id}@${new URL(publicUrl).hostname}>`, to: mail.recipient, ...letter }
}

/**
 * A request for a new password is queued for any e-mail, so that it takes the same time for all; only here it turns out
 * whether there is an account. Kept with the mail before it is sent: a repeated mail has the same link.
 */
async function addResetToken(db: Db, instance: Instance, mail: QueuedMail) {
  return db.transaction(async (tx) => {
    const user = await tx.one<Pick<UsersRow, 'id'>>(sql`
      select id
        from users
       where email = ${mail.recipient}
         and password_hash is not null
         and disabled_at is null`)
    if (!user) return null
    const owner = { user_id: user.id, email: mail.recipient }
    const issued = await issueUserToken(tx, instance.keyPrefix, 'reset', owner)
    await addToken(tx, instance.keyring, mail, issued)
    return issued.token
  })
}
