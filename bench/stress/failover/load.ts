// What two nodes are asked for without pause during a round: keys are created and revoked, each with an Idempotency-Key and
// again until it is answered, and verified at both nodes. Counts what must not happen.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Every node must refuse a revoked key this long after the answer to its revocation. */
const BOUND_MS = 2_000
/** What askers accept who send `maxStaleSeconds`. */
const MAX_STALE_SECONDS = 30
const WRITERS = 4
/** Keys that are verified all the time and never revoked. */
const STEADY = 10
const REQUEST_TIMEOUT_MS = 15_000

export type World = { nodes: string[]; session: string; service: string; storeId: string }
type Answer = { status: number; body: Record<string, unknown> }
type Made = { id: string; key: string }

export type Counts = {
  acknowledged: Set<string>
  /** By Idempotency-Key, the name of the key: each was asked for once. */
  names: Set<string>
  revoked: Set<string>
  statuses: Map<number, number>
  /** When writes were answered 2xx. */
  writtenAt: number[]
  validPastBound: number
  answeredStale: number
}

export type Load = { counts: Counts; stop(): Promise<void> }

export function newCounts(): Counts {
  return {
    acknowledged: new Set(),
    names: new Set(),
    revoked: new Set(),
    statuses: new Map(),
    writtenAt: [],
    validPastBound: 0,
    answeredStale: 0,
  }
}

export async function ask(url: string, method: string, token: string, body?: unknown, once?: string): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(once ? { 'idempotency-key': once } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  } catch {
    return { status: 0, body: {} }
  }
}

export function startLoad(world: World): Load {
  const counts = newCounts()
  let isRunning = true
  const keysUrl = (node: string) => `${node}/v1/user/store/${world.storeId}/keys`
  const nodeOf = (n: number) => world.nodes[n % world.nodes.length] as string
  const watched: { made: Made; revokedAt: number; revokedWall: number }[] = []
  const living: Made[] = []
  const steady: Made[] = []
  const count = ({ status }: Answer) => counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1)

  /** Again, at the other node, until it is answered, also when the round is over: what was begun is brought to an end. */
  async function untilDone(send: (node: string) => Promise<Answer>, first: number): Promise<Answer> {
    for (let n = first; ; n++) {
      const answer = await send(nodeOf(n))
      count(answer)
      if (answer.status >= 200 && answer.status < 300) return answer
      await sleep(100)
    }
  }

  async function write(n: number): Promise<void> {
    while (isRunning) {
      const name = randomUUID()
      counts.names.add(name)
      const body = { name, type: 'PROD', permissions: ['READ'] }
      const { body: made } = await untilDone((node) => ask(keysUrl(node), 'POST', world.session, body, name), n)
      counts.acknowledged.add(made.id as string)
      counts.writtenAt.push(performance.now())
      const kept = steady.length < STEADY ? steady : living
      kept.push(made as Made)
      await sleep(20)
    }
  }

  async function revoke(): Promise<void> {
    while (isRunning) {
      const made = living.shift()
      if (made) {
        // Both nodes know it.
        await Promise.all(world.nodes.map((node) => verify(node, made.key, 0)))
        await untilDone((node) => ask(`${keysUrl(node)}/${made.id}`, 'DELETE', world.session), counts.revoked.size)
        counts.revoked.add(made.id)
        watched.push({ made, revokedAt: performance.now(), revokedWall: Date.now() })
      }
      await sleep(150)
    }
  }

  async function verify(node: string, key: string, maxStaleSeconds: number): Promise<Answer> {
    const answer = await ask(`${node}/v1/keys/verify`, 'POST', world.service, {
      key,
      storeId: world.storeId,
      maxStaleSeconds,
    })
    count(answer)
    if (answer.body.asOf) counts.answeredStale += 1
    return answer
  }

  async function watch(node: string, maxStaleSeconds: number): Promise<void> {
    for (let n = 0; isRunning; n++) {
      const recent = watched.slice(-20)
      const each = recent[n % recent.length]
      const sentAt = performance.now()
      if (each) {
        const { body } = await verify(node, each.made.key, maxStaleSeconds)
        const asOf = body.asOf ? Date.parse(body.asOf as string) : null
        // An old answer tells of which moment it is.
        const isPast = asOf === null ? sentAt > each.revokedAt + BOUND_MS : asOf > each.revokedWall + BOUND_MS
        if (body.code === 'VALID' && isPast) counts.validPastBound += 1
      }
      const alive = steady[n % steady.length]
      if (alive) await verify(node, alive.key, maxStaleSeconds)
      await sleep(30)
    }
  }

  const loops = [
    ...Array.from({ length: WRITERS }, (_, n) => write(n)),
    revoke(),
    ...world.nodes.flatMap((node) => [watch(node, 0), watch(node, MAX_STALE_SECONDS)]),
  ]
  return {
    counts,
    async stop() {
      isRunning = false
      await Promise.all(loops)
    },
  }
}
