// npm run bench:neighbours: what one account waits for while others ask for much of the same node: large lists, lists of events
// with filters that nothing passes, streams of events from the beginning, new passwords, imports, large bodies. Milliseconds of its own
// requests, one after the other. CHECKOUTS (default '.'): folders of checkouts to compare, separated by commas; they take turns.
// SECONDS (default 10) for each measurement, ONLY: a part of the names of the cases to run, WORKERS (default 1) of the node.

import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, newKeys, newMembers, newServiceToken, newWorld, type Running, runOurs } from './world.ts'

const CHECKOUTS = (process.env.CHECKOUTS ?? '.').split(',')
const SECONDS = Number(process.env.SECONDS ?? 10)
const ONLY = process.env.ONLY ?? ''
const WORKERS = process.env.WORKERS ?? '1'
const EVENTS = 100_000
const PASSWORD = 'correct horse battery staple'

const world = await newWorld()
const agent = new Agent({ keepAlive: true })

/** `from`: the address that the request comes from. */
type Asked = {
  method?: 'GET' | 'POST'
  as?: string
  body?: object
  form?: string
  headers?: Record<string, string>
  from?: string
}

/** The status of the answer, and its text. */
function ask(
  url: string,
  { method = 'GET', as, body, form, headers = {}, from }: Asked,
): Promise<{ status: number; text: string }> {
  const sent = form ?? (body && JSON.stringify(body))
  const all = {
    ...(as && { authorization: `Bearer ${as}` }),
    ...(sent && { 'content-type': form === undefined ? 'application/json' : 'application/x-www-form-urlencoded' }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, agent, headers: all, localAddress: from }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.on('error', reject)
    request.end(sent)
  })
}

/** Asks for much until it is told to stop. */
type Flood = (node: Running) => Promise<() => Promise<void>>

/** So many at a time, each again as soon as it is answered. */
function lanes(count: number, run: (lane: number) => Promise<unknown>): () => Promise<void> {
  let isOver = false
  const all = Array.from({ length: count }, async (_, lane) => {
    while (!isOver) await run(lane)
  })
  return async () => {
    isOver = true
    await Promise.all(all)
  }
}

/** A store with events of one type, by its owner. */
async function longTrail(node: Running) {
  const { storeId, tokens } = await newMembers(world, 1)
  const as = tokens[0] as string
  const me = JSON.parse((await ask(`${node.url}/v1/user`, { as })).text) as { user: { id: string } }
  await world.sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select 'evt_' || right($1, 18) || lpad(n::text, 8, '0'), $1, 'store.updated', now(),
            json_build_object('kind', 'user', 'id', $2::text, 'credential', null, 'ip', null), $1, '{}'
       from generate_series(1, $3::int) as n`,
    [storeId, me.user.id, EVENTS],
  )
  const sealed = async () =>
    Number((await world.sql('select seq from event_heads where chain = $1', [storeId]))[0]?.seq)
  while (!((await sealed()) >= EVENTS)) await sleep(500)
  return { events: `${node.url}/v1/user/store/${storeId}/events`, storeId, as, userId: me.user.id }
}

const CASES: Record<string, Flood> = {
  'three accounts, 80 lists each of 100 keys with 15 kB': async (node) => {
    const accounts = await Promise.all([1, 2, 3].map(() => newMembers(world, 1)))
    for (const { storeId } of accounts) {
      await newKeys(world, storeId, 100)
      await world.sql(`update api_keys set metadata = json_build_object('a', repeat('x', 15000)) where store_id = $1`, [
        storeId,
      ])
    }
    return lanes(240, (lane) => {
      const { storeId, tokens } = accounts[lane % 3] as (typeof accounts)[0]
      return ask(`${node.url}/v1/user/store/${storeId}/keys?limit=100`, { as: tokens[0] as string })
    })
  },
  '20 lists of 100,000 events by actor and type, of which there are none': async (node) => {
    const { events, as, userId } = await longTrail(node)
    return lanes(20, () => ask(`${events}?actor=${userId}&type=store.frozen`, { as }))
  },
  '95 streams of 100,000 events from the beginning, of which none is wanted': async (node) => {
    const { events, storeId, as } = await longTrail(node)
    const first = await world.sql('select event_id from event_seals where chain = $1 order by seq limit 950', [storeId])
    const streams = first
      .filter((_, n) => n % 10 === 0)
      .map(({ event_id }) => {
        const headers = { authorization: `Bearer ${as}`, 'last-event-id': String(event_id) }
        return httpRequest(`${events}/stream?type=store.frozen`, { headers }, (response) => response.resume())
          .on('error', () => {})
          .end()
      })
    return async () => {
      for (const stream of streams) stream.destroy()
    }
  },
  'one account, 190 new passwords': async (node) => {
    const account = { email: `${crypto.randomUUID()}@example.com`, password: PASSWORD }
    const { token } = JSON.parse((await ask(`${node.url}/v1/auth/sign-up`, { method: 'POST', body: account })).text)
    const body = { currentPassword: PASSWORD, newPassword: PASSWORD }
    return lanes(190, () => ask(`${node.url}/v1/user/password`, { method: 'POST', as: token, body }))
  },
  'one account, 150 bodies of 64 KB at a time: forms of 16,000 fields': async (node) => {
    const as = await newOwnersToken()
    const form = Array.from({ length: 16_000 }, (_, n) => n.toString(36).padStart(3, 'a')).join('&')
    const url = `${node.url}/v1/oauth/introspect`
    return lanes(150, () => ask(url, { method: 'POST', as, form, from: OTHER_ADDRESS }))
  },
  'one account, 150 bodies of 64 KB at a time: addresses of 28,000 accents': async (node) => {
    const as = await newOwnersToken()
    const body = { addressLine1: '1 Main St', city: `a${'\u0301\u0316'.repeat(14_000)}`, country: 'US' }
    const url = `${node.url}/v1/addresses/validate`
    return lanes(150, () => ask(url, { method: 'POST', as, body, from: OTHER_ADDRESS }))
  },
  'two accounts with four stores each, an import into every store after the other': async (node) => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => newMembers(world, 1)))
    const owners = [stores[0], stores[4]].map((store) => store?.tokens[0] as string)
    for (const [n, { storeId }] of stores.entries()) {
      const me = JSON.parse((await ask(`${node.url}/v1/user`, { as: owners[Math.floor(n / 4)] as string })).text)
      await world.sql('delete from members where store_id = $1', [storeId])
      await world.sql(
        `insert into members (store_id, user_id, role, created_at, updated_at) values ($1, $2, 'OWNER', now(), now())`,
        [storeId, me.user.id],
      )
      await world.sql('update stores set account_id = $2 where id = $1', [storeId, me.user.id])
    }
    return lanes(8, async (lane) => {
      const url = `${node.url}/v1/user/store/${stores[lane]?.storeId}/customers/import`
      const { status } = await ask(url, {
        method: 'POST',
        as: owners[Math.floor(lane / 4)] as string,
        body: newImport(),
      })
      if (status !== 200) await sleep(200)
    })
  },
}

const OTHER_ADDRESS = '127.0.0.2'

/** A service token that an owner has issued for their store. */
async function newOwnersToken(): Promise<string> {
  const { storeId } = await newMembers(world, 1)
  const token = await newServiceToken(world, storeId)
  await world.sql(
    `update service_tokens
        set created_by = (select user_id from members where store_id = $1)
      where store_ids = array[$1]`,
    [storeId],
  )
  return token
}

/** 2,000 addresses of customers that the store does not have yet. */
function newImport(): object {
  const address = { company: 'C', addressLine1: '1 Main St', city: 'Dubai', state: 'DU', country: 'AE' }
  const addresses = Array.from({ length: 40 }, (_, n) => ({ ...address, addressLine2: `Unit ${n}` }))
  return { customers: Array.from({ length: 50 }, () => ({ externalId: crypto.randomUUID(), addresses })) }
}

/** Of each request the median and the longest time in milliseconds, and how many were refused. */
async function probe(node: Running): Promise<Record<string, string>> {
  const { storeId, tokens } = await newMembers(world, 1)
  const as = tokens[0] as string
  const key = (await newKeys(world, storeId, 1))[0]?.key
  const account = { email: `${crypto.randomUUID()}@example.com`, password: PASSWORD }
  await ask(`${node.url}/v1/auth/sign-up`, { method: 'POST', body: account })
  const service = await newServiceToken(world, storeId)
  const keys = `${node.url}/v1/user/store/${storeId}/keys`
  // In another store, since changes of one wait for each other.
  const other = await newMembers(world, 1)
  const [bulk, busy] = [`${node.url}/v1/user/store/${other.storeId}`, other.tokens[0] as string]
  const body = { name: 'Checkout', type: 'DEV', permissions: ['READ'] }
  const requests: Record<string, () => Promise<{ status: number }>> = {
    'create key': () => ask(keys, { method: 'POST', as, body }),
    'list keys': () => ask(`${keys}?limit=1`, { as }),
    'revoke in bulk': () =>
      ask(`${bulk}/keys/bulk`, { method: 'POST', as: busy, body: { owner: 'nobody', action: 'revoke' } }),
    'import a customer': () =>
      ask(`${bulk}/customers/import`, {
        method: 'POST',
        as: busy,
        body: { customers: [{ externalId: crypto.randomUUID() }] },
      }),
    verify: () => ask(`${node.url}/v1/keys/verify`, { method: 'POST', as: service, body: { key } }),
    'sign in': () => ask(`${node.url}/v1/auth/sign-in`, { method: 'POST', body: account }),
    '/readyz': () => ask(`${node.url}/readyz`, {}),
  }
  const end = performance.now() + SECONDS * 1_000
  const figures = Object.entries(requests).map(async ([name, run]) => {
    const times: number[] = []
    let refused = 0
    do {
      const began = performance.now()
      const { status } = await run()
      if (status >= 300) refused += 1
      times.push(performance.now() - began)
      await sleep(name === 'sign in' ? 500 : 50)
    } while (performance.now() < end)
    const told = `${Math.round(median(times))} / ${Math.round(Math.max(...times))}`
    return [name, refused > 0 ? `${told}, ${refused} of ${times.length} refused` : told]
  })
  return Object.fromEntries(await Promise.all(figures))
}

const results: Record<string, string>[] = []
for (const [name, flood] of Object.entries(CASES).filter(([name]) => name.includes(ONLY)))
  for (const checkout of CHECKOUTS) {
    const node = await runOurs(world, { WORKERS }, checkout)
    await probe(node)
    results.push({ case: name, checkout, flood: 'none', ...(await probe(node)) })
    const stop = await flood(node)
    results.push({ case: name, checkout, flood: 'yes', ...(await probe(node)) })
    await stop()
    await node.stop()
    process.stderr.write(`${name}, ${checkout}: ${JSON.stringify(results.slice(-2))}\n`)
  }
console.table(results)
agent.destroy()
await world.close()
