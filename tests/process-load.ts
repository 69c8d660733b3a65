// A load on a service that is killed or stopped under it, and the books that have to balance afterwards: whatever was
// acknowledged is there, once.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect } from 'vitest'
import { joinEmbedded } from '../src/db/embedded/embedded.ts'
import { type Started, until } from './launch.ts'
import { type Api, apiAt, NEW_ADDRESS, NEW_KEY, type Person } from './shop.ts'

export type Opened = { keys: string; billing: string; people: Person[] }
export type Made = { kind: 'key' | 'address'; once: string; as: string; id: string; secret?: string }

/** A store with three people who may make keys and keep addresses. */
export async function openShop(url: string): Promise<Opened> {
  const api = apiAt(url)
  const people: Person[] = []
  for (let i = 0; i < 3; i++) {
    const account = { email: `${randomUUID()}@example.com`, password: `a long pass phrase ${i} ${randomUUID()}` }
    const { body } = await api.post('/v1/auth/sign-up', account)
    people.push({ id: body.user.id, ...account, token: body.token })
  }
  const [owner, ...others] = people as [Person, ...Person[]]
  const store = (await api.post('/v1/user/store', { name: 'The shop' }, { as: owner.token })).body
  for (const { email, token: as } of others) {
    const invitation = { email, role: 'MANAGER' }
    const { token } = (await api.post(`/v1/user/store/${store.id}/invitations`, invitation, { as: owner.token })).body
    expect((await api.post('/v1/user/invitations/accept', { token }, { as })).status).toBe(200)
  }
  return { keys: `/v1/user/store/${store.id}/keys`, billing: `/v1/store/${store.id}/billing`, people }
}

/** Clients that make keys and addresses, and send again with the same Idempotency-Key until they are answered. */
export function startLoad(url: string, shop: Opened, clients: number) {
  const done: Made[] = []
  const unexpected: string[] = []
  let interrupted = 0
  let goOn = true
  let api: Api | null = apiAt(url)

  const makeOne = async (i: number): Promise<void> => {
    const as = (shop.people[i % 3] as Person).token
    const once = randomUUID()
    const kind = i % 2 === 0 ? 'key' : 'address'
    const [path, body] =
      kind === 'key' ? [shop.keys, NEW_KEY] : [shop.billing, { ...NEW_ADDRESS, isDefault: i % 3 === 0 }]
    for (;;) {
      const reply = await api?.post(path, body, { as, headers: { 'idempotency-key': once } }).catch(() => null)
      if (reply?.status === 201) {
        done.push({ kind, once, as, id: reply.body.id, ...(kind === 'key' ? { secret: reply.body.key } : {}) })
        return
      }
      interrupted += 1
      // Nobody there, the connection broken, or "not now": anything else is a fault.
      if (reply && reply.status !== 503) {
        unexpected.push(`${reply.status} ${reply.text}`)
        return
      }
      await sleep(50)
    }
  }
  let turn = 0
  const working = Array.from({ length: clients }, async () => {
    while (goOn) await makeOne(turn++)
  })
  return {
    goTo: (url: string | null) => {
      api = url === null ? null : apiAt(url)
    },
    /** Waits until so many more have been made. */
    more: async (many: number) => {
      const enough = done.length + many
      await until(async () => done.length >= enough || unexpected.length > 0, 120_000)
    },
    finish: async () => {
      goOn = false
      await Promise.all(working)
      return { acknowledged: done.length, interrupted, unexpected }
    },
    done: () => done,
  }
}

/**
 * Everything acknowledged against everything there: by the API, and in the database itself. `unused`: those of them whose
 * keys were not checked before, since the secret of a key that was used is not told again.
 */
export async function checkBooks(service: Started, shop: Opened, made: Made[], unused = made) {
  const database = await joinEmbedded(service.data, () => {})
  const session = new pg.Client(database.connection)
  await session.connect()
  try {
    const ask = async (text: string) => (await session.query(text)).rows
    const there = (await ask('select id from api_keys union all select id from addresses')).map(({ id }) => id)
    const events = await ask(`select subject from events where type in ('key.created', 'address.created')`)
    expect(events.map(({ subject }) => subject).sort()).toEqual([...there].sort())
    const [{ n: live }] = await ask('select sum(live_keys)::int as n from stores')
    expect(live).toBe(made.filter(({ kind }) => kind === 'key').length)
    const defaults = await ask(
      'select user_id from addresses group by user_id having count(*) filter (where is_default) <> 1',
    )

    // A sample of the keys works, and a sample of the requests, sent once more, finds what it made.
    const api = apiAt(service.url)
    for (const { kind, id, as, once, secret } of sample(unused, 40)) {
      if (kind === 'address') expect((await api.get(`${shop.billing}/${id}`, { as })).status).toBe(200)
      else {
        const again = await api.post(shop.keys, NEW_KEY, { as, headers: { 'idempotency-key': once } })
        expect(again.body).toMatchObject({ id, key: secret })
        const { status } = await api.get(shop.keys.replace('/keys', ''), { as: secret as string })
        expect(status).toBe(200)
      }
    }
    const acknowledged = new Set(made.map(({ id }) => id))
    return {
      acknowledged: acknowledged.size,
      lost: [...acknowledged].filter((id) => !there.includes(id)).length,
      doubled: there.filter((id) => !acknowledged.has(id)).length,
      wrongDefaults: defaults.length,
    }
  } finally {
    await session.end()
    await database.stop()
  }
}

/** Spread over the whole, the beginning and the end included. */
function sample<T>(all: T[], many: number): T[] {
  const step = Math.max(1, (all.length - 1) / (many - 1))
  return Array.from({ length: Math.min(many, all.length) }, (_, i) => all[Math.round(i * step)] as T)
}

export function report(what: string, figures: object): void {
  console.log(`${what}: ${JSON.stringify(figures)}`)
}
