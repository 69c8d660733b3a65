import { request } from 'undici'
import { expect, test } from 'vitest'
import { heapMb } from '../../tests/heap.ts'
import { type Shop, shop } from '../../tests/shop.ts'
import { newId } from '../core/ids.ts'
import { ServerKeys } from '../crypto/keyring.ts'
import { mintToken } from '../crypto/tokens.ts'

/** 16 KB as JSON text, and some 360 KB as objects. */
const WORST = { a: Array.from({ length: 5_400 }, () => ({})) }
const KEYS = 300

/** The key cache holds 75 MB as it counts them (auth/key-cache.ts). */
const COUNTED_MB = (KEYS * (JSON.stringify(WORST).length + 1_500)) / 1e6

test('a node keeps metadata as text: 5,000 keys with the worst of it cost less than 100 MB', async () => {
  const world = await shop({ alone: true })
  const ask = await newAsker(world)
  await ask(await insertKeys(world, 100, WORST))
  const keys = await insertKeys(world, KEYS, WORST)
  const before = heapMb()
  const parsed = Array.from({ length: KEYS / 10 }, () => JSON.parse(JSON.stringify(WORST)))
  const ofParsed = (heapMb() - before) * (KEYS / parsed.length)
  const enough = Math.min((COUNTED_MB * 100) / 75, ofParsed / 5)
  // The least of three, or the first that is little enough: what else this process keeps meanwhile only adds to it.
  let kept = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3 && kept >= enough; round++) {
    world.service.dropCaches()
    const before = heapMb()
    await ask(keys)
    kept = Math.min(kept, heapMb() - before)
  }
  expect(kept).toBeLessThan((COUNTED_MB * 100) / 75)
  expect(kept).toBeLessThan(ofParsed / 5)
})

test('a page of keys with the worst metadata costs hardly more than one with as many bytes in one text', async () => {
  const world = await shop()
  const { api, owner, keys } = world
  const tokens = await insertKeys(world, 100, WORST)
  const list = async () => {
    const began = process.cpuUsage()
    const answer = await fetch(`${api.url}${keys}?limit=100`, { headers: { authorization: `Bearer ${owner.token}` } })
    const text = await answer.text()
    const { user, system } = process.cpuUsage(began)
    return { text, ms: (user + system) / 1_000 }
  }
  const least = async () => {
    const times = [(await list()).ms, (await list()).ms, (await list()).ms, (await list()).ms]
    return Math.min(...times)
  }
  const name = '"metadata":{},'
  await world.sql('update api_keys set name = $2 where store_id = $1', [world.store.id, name])
  const worst = await least()
  const shown = JSON.parse((await list()).text)
  expect(shown.data).toHaveLength(100)
  for (const key of shown.data) expect([key.name, JSON.stringify(key.metadata)]).toEqual([name, JSON.stringify(WORST)])
  const [{ id }] = shown.data
  expect((await api.get(`${keys}/${id}`, { as: owner.token })).body).toEqual(shown.data[0])
  expect((await api.get('/v1/key', { as: tokens[0] as string })).body.metadata).toEqual(WORST)
  const plain = { a: 'x'.repeat(JSON.stringify(WORST).length) }
  await world.sql('update api_keys set metadata = $2 where store_id = $1', [world.store.id, JSON.stringify(plain)])
  const usual = await least()
  expect(worst, `${worst} ms, and ${usual} ms in one text`).toBeLessThan(usual * 3)
})

async function insertKeys({ sql, store, serverSecret }: Shop, count: number, metadata: object): Promise<string[]> {
  const serverKeys = new ServerKeys(Buffer.from(serverSecret, 'base64'))
  const tokens = Array.from({ length: count }, () => mintToken('skp', 'prod').reveal())
  const rows = tokens.map((token) => ({ id: newId('key'), hash: serverKeys.hmac('key-hash', token).toString('hex') }))
  await sql(
    `insert into api_keys (id, store_id, name, type, permissions, metadata, start, hash, hash_kid, created_by_kind,
                           created_by_id, created_at, updated_at)
     select id, $2, 'Checkout', 'PROD', '{READ,WRITE}', $3, 'skp_prod_abcd', decode(hash, 'hex'), $4, 'user', 'user_x', now(), now()
       from json_to_recordset($1) as made(id text, hash text)`,
    [JSON.stringify(rows), store.id, JSON.stringify(metadata), serverKeys.kid],
  )
  return tokens
}

/** Verifies each key, twenty at a time. */
async function newAsker({ api, serviceToken }: Shop): Promise<(keys: string[]) => Promise<void>> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await serviceToken()}` }
  return async (keys) => {
    const queue = [...keys]
    const work = async () => {
      for (let key = queue.pop(); key; key = queue.pop()) {
        const reply = await request(`${api.url}/v1/keys/verify`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ key }),
        })
        const text = await reply.body.text()
        // On a busy machine the node may refuse some: these ask again.
        if (reply.statusCode === 503) queue.push(key)
        else if (!text.startsWith('{"valid":true')) throw new Error(text)
      }
    }
    await Promise.all(Array.from({ length: 20 }, work))
  }
}
