// The receiver of webhooks: whether a message is Storekeeper's, whole and fresh (standardwebhooks.com).

import { StorekeeperError } from './error.ts'
import type { WebhookEvent } from './event-types.ts'

export type { StoreEvent, WebhookEvent } from './event-types.ts'

const TOLERANCE_SECONDS = 300
/** There are two while a secret is rotated; each has to be computed. */
const MAX_SIGNATURES = 8

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export interface ReadWebhookOptions {
  /** How old a message may be, and how far ahead: 300 seconds unless said. */
  toleranceSeconds?: number | undefined
  /** The time it is, for tests. */
  at?: Date | undefined
}

/**
 * The event of a message. Give the body as it came, as bytes or text, and the `whsec_…` of the webhook; several while it is
 * being rotated. Throws a StorekeeperError with the code `invalid_webhook` for whatever is not to be trusted: answer 400.
 * Messages can come more than once: `id` tells whether you have had it.
 */
export async function readWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, at = new Date() }: ReadWebhookOptions = {},
): Promise<WebhookEvent> {
  const bytes = bytesOf(body)
  // Of what is no number, every comparison is false, and no message would be too old.
  if (!(toleranceSeconds >= 0) || Number.isNaN(at.getTime()))
    throw new TypeError('readWebhook: "toleranceSeconds" is a number of seconds, and "at" is a date.')
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  )
  if (!id || !timestamp || !signatures) return refuse('it has no webhook-id, webhook-timestamp and webhook-signature')
  if (!/^\d{1,12}$/.test(timestamp)) return refuse('its webhook-timestamp is not a number of seconds')
  if (Math.abs(at.getTime() / 1000 - Number(timestamp)) > toleranceSeconds)
    return refuse(`it was sent more than ${toleranceSeconds} seconds from now`)
  const signed = signedBytes(id, timestamp, bytes)
  const given = signatures
    .split(' ', MAX_SIGNATURES)
    .flatMap((part) => (part.startsWith('v1,') ? [fromBase64(part.slice(3))] : []))
  for (const secret of [secrets].flat()) {
    const key = await keyOf(secret, 'verify')
    for (const signature of given)
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed)))
        // It is signed, so it is what the service wrote: answers are not checked.
        return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent
  }
  return refuse('no signature matches: it was changed on its way, or the secret is that of another webhook')
}

/** The headers of a message, as the service would send it: for tests of a receiver. */
export async function signTestWebhook(
  body: string | Uint8Array | ArrayBuffer,
  secret: string,
  { id = 'evt_test', at = new Date() }: { id?: string; at?: Date } = {},
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const key = await keyOf(secret, 'sign')
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signedBytes(id, timestamp, bytesOf(body))))
  const text = btoa(String.fromCharCode(...signature))
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${text}` }
}

function refuse(why: string): never {
  throw new StorekeeperError('invalid_webhook', `This message is not to be trusted: ${why}.`)
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  throw new TypeError(
    'The body was parsed before it came here, and its bytes are what is signed. Express: express.raw({ type: "application/json" }) on this route, then req.body. Fastify: addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => done(null, body)). Koa: no body parser on this route, then read ctx.req. Hono, Next and others with a Request: await request.text().',
  )
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  // Any kind of Headers: there are several in one process.
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  const [, value] = Object.entries(headers).find(([given]) => given.toLowerCase() === name) ?? []
  return typeof value === 'string' ? value : value?.[0]
}

function signedBytes(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const all = new Uint8Array(head.length + body.length)
  all.set(head)
  all.set(body, head.length)
  return all
}

function keyOf(secret: string, use: 'sign' | 'verify') {
  const bytes = fromBase64(secret.trim().replace(/^whsec_/, ''))
  if (!bytes || bytes.length < 16)
    throw new TypeError('The secret of a webhook is "whsec_" and base64, as it was shown.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [use])
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return null
  }
}
