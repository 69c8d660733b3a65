// A node whose clock and the database's differ: what is kept for hours or days by one of them would be gone by the other.

import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { closeSharedService, NEW_KEY, newDatabase, type Reply, shop } from '../../tests/shop.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../core/clock.ts'
import { purgeStores } from '../stores/purge.ts'
import { listen } from './listen.ts'
import { migrate } from './migrate.ts'
import { connect } from './pool.ts'
import { sql } from './sql.ts'

const RETRY = [503, 'unavailable', '1']
const DIFFER = /^the clock of this node and that of the database differ by \d+ seconds$/
const summary = ({ status, body, headers }: Reply) => [status, body?.code, headers.get('retry-after')]

beforeAll(closeSharedService)

test('a node whose clock jumps serves nothing and purges nothing until it is right again', async () => {
  const world = await shop({ alone: true })
  const { api, owner, keys, databaseUrl } = world
  const as = owner.token
  const back = await serviceClient(world)
  const key = (await api.post(keys, NEW_KEY, { as })).body
  const deleted = (await api.post('/v1/user/store', { name: 'Deleted a moment ago' }, { as })).body.id
  await api.delete(`/v1/user/store/${deleted}`, { as })
  const once = { as, headers: { 'idempotency-key': 'only-one-key' } }
  const made = await api.post(keys, NEW_KEY, once)
  const chores = connect({ connectionString: databaseUrl })
  onTestFinished(() => chores.close())
  await chores.one(sql`select 1`)
  const isReady = async () => (await api.get('/readyz')).status === 200

  for (const wrongBy of [25 * HOUR, 31 * DAY, -2 * HOUR, MINUTE + 30 * SECOND]) {
    expect(await back.codeOf(key.key)).toBe('VALID')
    const right = setClock(wrongBy)
    await until(async () => !(await isReady()))
    await until(async () => (await back.verify(key.key)).status === 503)
    expect([wrongBy, summary(await back.verify(key.key))]).toEqual([wrongBy, RETRY])
    for (const request of [
      api.post(keys, NEW_KEY, once),
      api.get(keys, { as }),
      api.delete(`${keys}/${key.id}`, { as }),
    ])
      expect([wrongBy, summary(await request)]).toEqual([wrongBy, RETRY])
    const { status, body, headers } = await api.get('/readyz')
    expect([status, body.status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(DIFFER), '1'])
    await until(async () => purgeStores(chores).then(never, () => true))
    await expect(migrate({ connectionString: databaseUrl })).rejects.toThrow(DIFFER)
    right()
    await until(isReady)
    expect(await world.sql('select id from stores where id = $1', [deleted])).toHaveLength(1)
  }
  const again = await api.post(keys, NEW_KEY, once)
  expect([again.status, again.body.id]).toEqual([201, made.body.id])
})

test('a difference below a minute is no difference', async () => {
  const { api, owner, keys } = await shop({ alone: true })
  for (const wrongBy of [MINUTE - 10 * SECOND, -MINUTE + 10 * SECOND]) {
    const right = setClock(wrongBy)
    expect((await api.post(keys, NEW_KEY, { as: owner.token })).status).toBe(201)
    expect((await api.get('/readyz')).status).toBe(200)
    right()
  }
})

test('no heartbeat counts while the clocks differ', async () => {
  const listener = listen({ connectionString: await newDatabase() }, {}, () => {})
  onTestFinished(() => listener.close())
  await until(async () => listener.caughtUpTo().mono > 0)
  const right = setClock(-2 * HOUR)
  await until(async () => listener.caughtUpTo().mono < 0)
  right()
  await until(async () => listener.caughtUpTo().mono > 0)
})

/** Returns what sets it right. */
function setClock(wrongByMs: number): () => void {
  const real = Date.now.bind(Date)
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + wrongByMs)
  onTestFinished(() => void clock.mockRestore())
  return () => clock.mockRestore()
}

const never = () => false

async function until(condition: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: 30_000, interval: 20 })
}
