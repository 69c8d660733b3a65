// The mail server, spoken to over SMTP by a library.

import { createTransport } from 'nodemailer'
import { SECOND } from '../core/clock.ts'
import type { Secret } from '../crypto/secret.ts'

/** How long a conversation with the mail server may take, from looking up its name to its last answer, at most. */
export const MAX_SENDING_MS = 60 * SECOND

type MailMessage = { messageId: string; to: string; subject: string; text: string }

export type MailTransport = { send(message: MailMessage): Promise<void> }

export function newMailTransport(url: Secret, from: string, isPlainAllowed: boolean): MailTransport {
  const transport = createTransport({
    // Mails carry tokens, so the way to the server is encrypted. The URL may say otherwise: "?requireTLS=false".
    requireTLS: !isPlainAllowed,
    url: url.reveal(),
    connectionTimeout: 10 * SECOND,
    greetingTimeout: 10 * SECOND,
    socketTimeout: 20 * SECOND,
    dnsTimeout: 10 * SECOND,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    send: async ({ messageId, to, subject, text }) => {
      await transport.sendMail({
        from,
        // As an object: an address as text may be read as several.
        to: { name: '', address: to },
        subject,
        text,
        messageId,
        textEncoding: 'quoted-printable',
        headers: { 'auto-submitted': 'auto-generated' },
      })
    },
  }
}

/** The server has refused the recipient or the mail for good (5xx): trying again would change nothing. */
export function isRefusedForGood(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('responseCode' in error)) return false
  return (error.code === 'EENVELOPE' || error.code === 'EMESSAGE') && Number(error.responseCode) >= 500
}
