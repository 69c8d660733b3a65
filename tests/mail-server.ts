// A mail server on this machine: it speaks as much SMTP as a client needs, keeps the mails it was sent, and refuses when it
// is told to.

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

type Mail = { to: string; subject: string; text: string; headers: string; token: string | null }

export type MailServer = {
  /** The settings of a service that sends its mail here. */
  settings: Record<string, string>
  mails: Mail[]
  /** From now on recipients are answered this, until it is null. */
  refuse(reply: string | null): void
  /** How many recipients were refused. */
  refused(): number
  /** The mail to this address that has come last, once there are so many to it. */
  mailTo(address: string, count?: number): Promise<Mail>
}

export async function mailServer(): Promise<MailServer> {
  const mails: Mail[] = []
  const waiting = new Set<() => void>()
  const sockets = new Set<Socket>()
  let refusal: string | null = null
  let refused = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    const say = (line: string) => socket.write(`${line}\r\n`)
    let [unread, to, isData] = ['', '', false]
    const hear = (line: string) => {
      if (/^EHLO|^HELO|^MAIL|^RSET|^NOOP/i.test(line)) return say('250 fine')
      if (/^QUIT/i.test(line)) return void socket.end('221 bye\r\n')
      if (/^RCPT/i.test(line)) {
        to = /<(.*)>/.exec(line)?.[1] ?? ''
        if (refusal !== null) refused += 1
        return say(refusal ?? '250 fine')
      }
      isData = /^DATA/i.test(line)
      return say(isData ? '354 go on' : '502 what?')
    }
    const keep = (raw: string) => {
      mails.push(read(to, raw))
      say('250 kept')
      for (const look of waiting) look()
    }
    say('220 mail.example')
    socket.on('data', (chunk) => {
      unread += chunk
      for (;;) {
        const end = unread.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end === -1) return
        const part = unread.slice(0, end)
        unread = unread.slice(end + (isData ? 5 : 2))
        if (!isData) hear(part)
        else {
          isData = false
          keep(part)
        }
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    settings: {
      SMTP_URL: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
      MAIL_FROM: 'The shop <no-reply@shop.example>',
      PUBLIC_URL: 'https://keys.example',
    },
    mails,
    refuse: (reply) => {
      refusal = reply
    },
    refused: () => refused,
    mailTo: (address, count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          const found = mails.filter((mail) => mail.to === address)
          if (found.length < count) return
          waiting.delete(look)
          resolve(found.at(-1) as Mail)
        }
        waiting.add(look)
        look()
      }),
  }
}

function read(to: string, raw: string): Mail {
  const [headers, ...body] = raw.split('\r\n\r\n')
  const text = decode(body.join('\n\n'))
  const subject = words(/^Subject: (.*(?:\r\n\s.*)*)/m.exec(headers as string)?.[1] ?? '')
  return { to, subject, text, headers: headers as string, token: /#token=(\S+)/.exec(text)?.[1] ?? null }
}

/** A header that may be encoded (RFC 2047). */
function words(header: string): string {
  return header
    .replace(/\r\n\s/g, ' ')
    .replace(/\?= =\?UTF-8\?Q\?/g, '')
    .replace(/=\?UTF-8\?Q\?(.*?)\?=/g, (_, text: string) => decode(text.replaceAll('_', ' ')))
}

/** Quoted-printable, in UTF-8. */
function decode(text: string): string {
  const bytes = text
    .replace(/\r\n/g, '\n')
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
