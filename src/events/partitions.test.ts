import { expect, test } from 'vitest'
import { type Shop, shop } from '../../tests/shop.ts'
import { addEventPartitions } from './partitions.ts'
import { sealAll } from './seal.ts'

test('partitions of the coming months are added once, however many nodes look, and events find theirs or the default', async () => {
  const here = await shop({ alone: true })
  const { sql, service, store } = here
  const write = (at: string, suffix: string) =>
    sql(
      `insert into events (id, store_id, type, at, actor, subject, data)
       select first_event_id(at::timestamptz) || $3, $1, 'store.updated', now(), '{"id":"user_1"}', $1, '{}'
         from unnest($2::text[]) as at
    returning tableoid::regclass::text as partition`,
      [store.id, [at], suffix],
    )
  // Some month whose first event comes before its partition.
  const [{ early }] = await sql(`select date_trunc('month', now()) + interval '3 months' as early`)
  expect(await write(early, 'a')).toEqual([{ partition: 'events_default' }])

  await Promise.all(Array.from({ length: 4 }, () => addEventPartitions(service.db)))
  await addEventPartitions(service.db)
  const [{ third }] = await sql(`select to_char(now() + interval '2 months', '"events_"YYYY_MM') as third`)
  expect(await partitionsOf(here)).toEqual([third, 'events_default', 'events_first'].toSorted())
  const [{ ahead }] = await sql(`select date_trunc('month', now()) + interval '2 months' as ahead`)
  expect(await write(ahead, 'b')).toEqual([{ partition: third }])
  expect(await write(early, 'c')).toEqual([{ partition: 'events_default' }])
  expect(await write('2099-01-01Z', 'd')).toEqual([{ partition: 'events_default' }])
  // The month after the one that is in the default partition has a partition again.
  await sql(`select add_event_month(date_trunc('month', now()) + interval '4 months')`)
  expect(await partitionsOf(here)).toHaveLength(4)

  for (const table of await partitionsOf(here))
    await expect(sql(`delete from ${table}`)).rejects.toThrow(`A row of ${table} never changes`)
  // What is in different partitions is sealed in one chain.
  await sealAll(service.db)
  expect(await sql('select from unsealed_events')).toEqual([])

  // One statement that writes to several partitions is one row of the outbox, which nobody sends from now on.
  await service.close(0)
  await sql(
    `insert into webhooks (id, store_id, url, types, secret, secret_kid, created_by_kind, created_by_id, created_at, updated_at)
     values ('wh_1', $1, 'https://example.com', '{*}', '', 'kid', 'user', 'user_1', now(), now())`,
    [store.id],
  )
  await sql(
    `insert into events (id, store_id, type, at, actor, subject, data)
     select id, $1, 'store.updated', now(), '{}', $1, '{}' from unnest(array['evt_00', 'evt_zz']) as id`,
    [store.id],
  )
  expect(await sql('select event_ids from webhook_outbox')).toEqual([{ event_ids: ['evt_00', 'evt_zz'] }])
})

async function partitionsOf({ sql }: Shop): Promise<string[]> {
  const rows = await sql(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`,
  )
  return rows.map(({ name }) => name).toSorted()
}
