// A key can be rotated as often as anybody likes. What is kept of its use, and what a report of it costs, does not grow with
// the number of secrets it had.

import { expect, test, vi } from 'vitest'
import { NEW_KEY, shop } from '../../tests/shop.ts'
import { DAY, HOUR, nowMs } from '../core/clock.ts'
import { ServerKeys } from '../crypto/keyring.ts'
import type { Outcome } from './schema.ts'
import { newUsage } from './usage.ts'
import { rollUpUsage } from './usage-retention.ts'

const keyring = { current: new ServerKeys(Buffer.alloc(32)), previous: null }

/** A key, and a node that writes down its use when it is told to. */
async function used() {
  const world = await shop({ alone: true })
  const as = { as: world.owner.token }
  const { id } = (await world.api.post(world.keys, NEW_KEY, as)).body as { id: string }
  const usage = newUsage(world.service.db, keyring, DAY)
  const count = (secretNo: number, outcome: Outcome) =>
    usage.count({
      keyId: id,
      secretNo,
      outcome,
      permissions: [],
      rehashTo: null,
      source: { ip: null, serviceId: null },
    })
  const rows = () => world.sql('select at, outcome, secret_no, count::int from key_usage order by 1, 2, 3')
  return { ...world, as, id, usage, count, rows }
}

test('the uses of the newest secrets are kept apart, those of older ones are added up', async () => {
  const { api, keys, as, id, usage, count, rows } = await used()
  const secrets = 9
  for (let no = 1; no <= secrets; no++) {
    if (no > 1) expect((await api.post(`${keys}/${id}/rotate`, {}, as)).status).toBe(200)
    count(no, 'VALID')
    count(no, 'DISABLED')
    await usage.flush()
  }
  // Written down late, by a node that had counted it before.
  count(2, 'VALID')
  await usage.flush()
  await usage.close()
  const kept = await rows()
  const numbers = [...new Set(kept.map(({ secret_no }) => secret_no))].sort()
  expect(numbers).toEqual([0, 7, 8, 9])
  const { body } = await api.get(`${keys}/usage?interval=day`, as)
  const counts = body.data.flatMap(({ data }: { data: { counts: Record<string, number> }[] }) => data)
  const sum = (outcome: string) =>
    counts.reduce((all: number, one: { counts: Record<string, number> }) => all + (one.counts[outcome] ?? 0), 0)
  expect([sum('VALID'), sum('DISABLED')]).toEqual([secrets + 1, secrets])
  const { bySecret } = (await api.get(`${keys}/${id}/usage`, as)).body
  const once = { counts: { VALID: 1, DISABLED: 1 } }
  expect(bySecret).toMatchObject({ current: once, previous: once })
})

test('a report reads no more than it shows, however many secrets were used', async () => {
  const { api, keys, as, id, sql, service } = await used()
  const secrets = 3_000
  const hour = new Date(Math.floor(nowMs() / HOUR) * HOUR)
  await sql('update api_keys set secret_no = $2 where id = $1', [id, secrets])
  await sql(
    `insert into key_usage (key_id, grain, at, outcome, secret_no, count)
     select $1, 'hour', $2, 'VALID', no, 1 from generate_series(1, $3::int) no`,
    [id, hour, secrets],
  )
  const spies = [vi.spyOn(service.db, 'query')]
  const { transaction } = service.db
  vi.spyOn(service.db, 'transaction').mockImplementation((work, turn) =>
    transaction((tx) => {
      spies.push(vi.spyOn(tx, 'query'))
      return work(tx)
    }, turn),
  )
  const span = `from=${hour.toISOString()}`
  const ofStore = (await api.get(`${keys}/usage?${span}`, as)).body
  const ofKey = (await api.get(`${keys}/${id}/usage?${span}`, as)).body
  const answers = await Promise.all(
    spies.flatMap(({ mock }) => mock.results.map(({ value }) => value as Promise<unknown[]>)),
  )
  const data = [{ at: hour.toISOString(), counts: { VALID: secrets } }]
  expect(ofStore.data).toEqual([{ keyId: id, data }])
  expect(ofKey.data).toEqual(data)
  expect(ofKey.bySecret).toMatchObject({ current: { counts: { VALID: 1 } }, previous: { counts: { VALID: 1 } } })
  expect(Math.max(...answers.map((rows) => rows.length))).toBe(2)
})

test('when hours become days, the uses of old secrets become one', async () => {
  const { id, sql, service, rows } = await used()
  const day = new Date(Math.floor(nowMs() / DAY) * DAY - 100 * DAY)
  await sql('update api_keys set secret_no = 20 where id = $1', [id])
  await sql(
    `insert into key_usage (key_id, grain, at, outcome, secret_no, count)
     select $1, 'hour', $2::timestamptz + no * interval '1 hour', 'VALID', no, 1 from generate_series(1, 20) no`,
    [id, day],
  )
  await rollUpUsage(service.db)
  expect(await rows()).toEqual([
    { at: day, outcome: 'VALID', secret_no: 0, count: 18 },
    { at: day, outcome: 'VALID', secret_no: 19, count: 1 },
    { at: day, outcome: 'VALID', secret_no: 20, count: 1 },
  ])
})
