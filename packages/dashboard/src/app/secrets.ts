// Secrets that the service shows once. Before such a call is sent, this browser notes what will bring its answer again: the
// Idempotency-Key and the input, never the secret. For an hour the service repeats the answer to the same session, so a
// secret survives a closed tab, a crash and an answer that was lost. The note is gone when somebody says they have saved
// the secret.

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

/** The service repeats an answer with a secret for an hour, five times. */
const REPLAY_MS = 60 * 60 * 1000
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

// ---- the notes ------------------------------------------------------------------------------------------------------

const NAME = 'storekeeper.unconfirmed'
const listeners = new Set<() => void>()
let cached: { text: string; notes: Note[] } = { text: '[]', notes: [] }

function all(): Note[] {
  const text = localStorage.getItem(NAME) ?? '[]'
  if (text !== cached.text) cached = { text, notes: parse(text) }
  return cached.notes
}

function parse(text: string): Note[] {
  try {
    return (JSON.parse(text) as Note[]).filter(({ madeAt }) => Date.now() - madeAt < REPLAY_MS)
  } catch {
    return []
  }
}

function write(notes: Note[]): void {
  if (notes.length === 0) localStorage.removeItem(NAME)
  else localStorage.setItem(NAME, JSON.stringify(notes))
  for (const listener of listeners) listener()
}

export const notes = {
  all,
  add: (note: Note) => write([...all(), note]),
  update: (note: Note) => write(all().map((one) => (one.idempotencyKey === note.idempotencyKey ? note : one))),
  remove: ({ idempotencyKey }: Note) => write(all().filter((one) => one.idempotencyKey !== idempotencyKey)),
  /** What was made is gone, so its secret is of no use. */
  forget: (madeId: string) => write(all().filter((one) => one.madeId !== madeId)),
  clear: () => write([]),
  /** Also told of what other tabs note. */
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    addEventListener('storage', listener)
    return () => {
      listeners.delete(listener)
      removeEventListener('storage', listener)
    }
  },
}
