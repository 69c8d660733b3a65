// Requests to two nodes, sent again until they are answered: at the other node, with the same Idempotency-Key. Counts answers
// and times, and keeps whatever contradicts the model.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

/** Longer than a node is ever stopped, and than it waits for the database: only what was cut off is sent again. */
const TIMEOUT_MS = 60_000
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 1_000
const MAX_KEPT = 100

/** The members of answers that are looked at. */
export type Body = {
  id?: string
  key?: string
  code?: string
  name?: string
  token?: string
  version?: number
  isDefault?: boolean
  enabled?: boolean
  status?: string
  addressLine1?: string
  externalId?: string
  storeId?: string | null
  seq?: number
  asOf?: string
  permissions?: string[] | null
  credits?: { remaining: number } | null
  rateLimit?: { limit: number; remaining: number } | null
  user?: { id: string }
  data?: Body[]
  nextCursor?: string | null
}

export type Reply = {
  status: number
  body: Body
  /** How many attempts were not answered before. */
  lost: number
  firstSentAt: number
  sentAt: number
  answeredAt: number
}

type Options = { token?: string; body?: object; once?: boolean; kind?: string }

export type Client = {
  send(method: string, path: string, options?: Options): Promise<Reply>
  /** Keeps what contradicts the model. */
  complain(what: string): void
  complaints: string[]
  complaintCount(): number
  /** What was counted since the last call. */
  take(): Taken
  close(): Promise<void>
}
export type Taken = { statuses: Record<string, number>; times: Record<string, number[]>; retried: number }

export function newClient(urls: string[]): Client {
  const agent = new Agent({
    connections: 64,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    keepAliveTimeout: 4_000,
  })
  const complaints: string[] = []
  let complained = 0
  let taken: Taken = { statuses: {}, times: {}, retried: 0 }
  const count = (name: string) => {
    taken.statuses[name] = (taken.statuses[name] ?? 0) + 1
  }
  const complain = (what: string) => {
    complained += 1
    if (complaints.length < MAX_KEPT) complaints.push(`${new Date().toISOString()} ${what}`)
  }

  async function attempt(url: string, method: string, { token, body }: Options, once: string | null) {
    try {
      const response = await request(url, {
        method: method as 'GET',
        headers: {
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...(once ? { 'idempotency-key': once } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        dispatcher: agent,
      })
      const text = await response.body.text()
      return { status: response.statusCode, body: (text === '' ? {} : JSON.parse(text)) as Body }
    } catch {
      return { status: 0, body: {} as Body }
    }
  }

  return {
    complaints,
    complain,
    complaintCount: () => complained,
    async send(method, path, options = {}) {
      const once = options.once ? randomUUID() : null
      const firstSentAt = performance.now()
      let pause = FIRST_PAUSE_MS
      for (let n = Math.floor(Math.random() * urls.length), lost = 0; ; n++, lost++) {
        const sentAt = performance.now()
        const { status, body } = await attempt(`${urls[n % urls.length]}${path}`, method, options, once)
        const answeredAt = performance.now()
        count(status === 0 ? 'cut off' : String(status))
        if (status === 500) complain(`500 to ${method} ${path}: ${JSON.stringify(body)}`)
        const isAnswered = status !== 0 && status < 500 && body.code !== 'idempotency_in_progress'
        if (isAnswered) {
          if (options.kind) (taken.times[options.kind] ??= []).push(answeredAt - firstSentAt)
          return { status, body, lost, firstSentAt, sentAt, answeredAt }
        }
        taken.retried += 1
        await sleep(pause * (0.5 + Math.random()))
        pause = Math.min(LONGEST_PAUSE_MS, pause * 2)
      }
    },
    take() {
      const before = taken
      taken = { statuses: {}, times: {}, retried: 0 }
      return before
    },
    close: () => agent.close(),
  }
}
