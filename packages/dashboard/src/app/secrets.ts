// Secrets that the service shows once. Before such a call is sent, this browser notes what will bring its answer again: the
// Idempotency-Key and the input, never the secret. For an hour the service repeats the answer to the same session, so a
// secret survives a closed tab, a crash and an answer that was lost. The note (notes.ts) is gone when somebody says they have
// saved the secret.

import { type CallOptions, isStorekeeperError } from '@storekeeper/client'
import { sk } from './client.ts'

type Input = object
/** `ids`: the ids of the path below the store. */
export type SecretCall = {
  operation: keyof typeof OPERATIONS
  storeId: string
  ids: string[]
  input: Input
  /** What it is for, in the words of whoever made it. */
  label: string
}
/** `madeId`: of what was made, once it is known. */
export type Note = SecretCall & {
  userId: string
  idempotencyKey: string
  madeAt: number
  shown: number
  madeId?: string
}
export type Revealed = { id: string; secret: string }

/** Every operation whose answer holds a secret, and where in the answer it is. */
const OPERATIONS = {
  'keys.create': async ({ storeId, input }: SecretCall, options: CallOptions) => {
    const { id, key } = await sk.store(storeId).keys.create(input as never, options)
    return { id, secret: key }
  },
  'keys.rotate': async ({ storeId, ids: [keyId = ''], input }: SecretCall, options: CallOptions) => {
    const { id, key } = await sk.store(storeId).keys.rotate(keyId, input as never, options)
    return { id, secret: key }
  },
  'webhooks.create': ({ storeId, input }: SecretCall, options: CallOptions) =>
    sk.store(storeId).webhooks.create(input as never, options),
  'webhooks.rotate': ({ storeId, ids: [webhookId = ''], input }: SecretCall, options: CallOptions) =>
    sk.store(storeId).webhooks.rotate(webhookId, input as never, options),
  'serviceTokens.create': async ({ storeId, input }: SecretCall, options: CallOptions) => {
    const { id, token } = await sk.store(storeId).serviceTokens.create(input as never, options)
    return { id, secret: token }
  },
  'invitations.create': async ({ storeId, input }: SecretCall, options: CallOptions) => {
    const { id, token } = await sk.store(storeId).invitations.create(input as never, options)
    // Behind the `#`, which no browser sends to a server and no log sees.
    return { id, secret: `${location.origin}/invitation#token=${token}` }
  },
} satisfies Record<string, (call: SecretCall, options: CallOptions) => Promise<Revealed>>

/** The service repeats an answer with a secret five times. */
export const MAX_SHOWN = 5

/** Sends it, or asks for the same answer again. */
export async function reveal(note: Note): Promise<Revealed> {
  const { id, secret } = await OPERATIONS[note.operation](note, { idempotencyKey: note.idempotencyKey })
  return { id, secret }
}

/** The id of what was made, when its secret can no longer be shown. */
export function madeWithoutSecret(error: unknown): string | null {
  if (!isStorekeeperError(error, 'secret_no_longer_available')) return null
  const { resource } = error.details as { resource?: { id?: string } | string }
  return (typeof resource === 'string' ? resource.split('/').at(-1) : resource?.id) ?? ''
}
