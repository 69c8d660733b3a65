// A credential is used while it is ended: several requests with it are on their way, at both nodes, when the request that
// ends it is sent. Once that is answered nothing of theirs is written any more: what the database holds then, it holds when
// the last of them was answered.

import { type Credential, nth, UNBOUND } from './rights-model.ts'
import type { Operation } from './rights-rules.ts'
import { keep, type Nodes, newTenant, requestFor, send, type Tenant } from './rights-tenant.ts'

const OWNER = { person: 0, session: 0 }
const MANAGER = { person: 1, session: 0 }
const CASCADE = { keys: 'keep', webhooks: 'keep' } as const
const CHIEF = ['READ', 'MANAGE_KEYS', 'MANAGE_MEMBERS', 'MANAGE_WEBHOOKS']

/** How a session of the manager, or the owner's key, comes to its end. */
const HOW = {
  'signs out': { of: MANAGER, by: { op: 'sign out', by: MANAGER } },
  'another session ends it': { of: MANAGER, by: { op: 'end other sessions', by: { person: 1, session: 1 } } },
  'is removed': { of: MANAGER, by: { op: 'remove member', by: OWNER, person: 1, cascade: CASCADE } },
  leaves: { of: MANAGER, by: { op: 'leave', by: { person: 1, session: 1 }, cascade: CASCADE } },
  'is erased': { of: MANAGER, by: { op: 'erase', by: { person: 1, session: 1 }, cascade: CASCADE } },
  'key is revoked': { of: { key: 0, secret: 0 }, by: { op: 'revoke key', by: OWNER, key: 0, made: 'keep' } },
  'key is disabled': {
    of: { key: 0, secret: 0 },
    by: { op: 'change key', by: OWNER, key: 0, change: { enabled: false } },
  },
  'key is rotated': { of: { key: 0, secret: 0 }, by: { op: 'rotate key', by: OWNER, key: 0, graceSeconds: 0 } },
  'key is replaced': { of: { key: 0, secret: 0 }, by: { op: 'rotate key', by: OWNER, key: 0, graceSeconds: 2_000 } },
  'keys are frozen': { of: { key: 0, secret: 0 }, by: { op: 'freeze', by: OWNER } },
  'key has leaked': { of: { key: 0, secret: 0 }, by: { op: 'report leak', secret: { key: 0, secret: 0 } } },
} as const satisfies Record<string, { of: Credential; by: Operation }>

export type Ending = keyof typeof HOW
export const ENDINGS = Object.keys(HOW) as Ending[]

const settings = (permissions: string[]) => ({
  type: 'PROD' as const,
  permissions,
  ...UNBOUND,
})

/** What was written too late, or null. */
export async function raceAnEnding(nodes: Nodes, ending: Ending): Promise<string | null> {
  const tenant = await newTenant(nodes)
  const { of, by } = HOW[ending]
  await mustDo(tenant, { op: 'create key', by: OWNER, settings: settings(CHIEF) })
  const racing = Array.from({ length: 12 }, (_, n) => send(nth(nodes.urls, n % 2), requestOf(tenant, of, n)))
  // Some have been answered by now, and the others are under way.
  await Promise.race(racing)
  await mustDo(tenant, by)
  const before = await written(tenant)
  await Promise.all(racing)
  const after = await written(tenant)
  return before === after ? null : `${before} when it was answered, ${after} afterwards`
}

function requestOf(tenant: Tenant, by: Credential, n: number) {
  const operations: Operation[] = [
    { op: 'create key', by, settings: settings(['READ']) },
    { op: 'invite', by, to: n % 5, rights: { role: 'STAFF', permissions: ['READ'] } },
    { op: 'make webhook', by },
  ]
  const request = requestFor(tenant, nth(operations, n % operations.length))
  if (request === null) throw new Error('every one of these is a request')
  return request
}

async function mustDo(tenant: Tenant, operation: Operation): Promise<void> {
  const request = requestFor(tenant, operation)
  const reply = request && (await send(nth(tenant.nodes.urls, 1), request))
  if (!request || !reply || reply.status >= 300) throw new Error(`${operation.op} was answered ${reply?.status}`)
  keep(tenant, operation, request, reply)
}

/** Events are written with every change, and never changed: those of the store are all that was written. */
async function written({ nodes, storeId }: Tenant): Promise<string> {
  const [row] = await nodes.sql(
    `select count(*)::int as events
       from events
      where store_id = $1
        and type in ('key.created', 'member.invited', 'webhook.created')`,
    [storeId],
  )
  return `${row?.events} changes`
}
