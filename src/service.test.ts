import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { shop } from '../tests/shop.ts'
import { startTicking } from '../tests/ticks.ts'

test('a request that is under way when the service stops is answered, and then nothing is waited for', async () => {
  const { api, owner, store, sql, service, databaseUrl } = await shop({ alone: true })
  // A transaction of its own: within one, pg_stat_activity never shows connections that were opened since its first look.
  const holder = new pg.Client({ connectionString: databaseUrl })
  onTestFinished(() => holder.end())
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from stores where id = $1 for update', [store.id])
  const answer = api.patch(`/v1/user/store/${store.id}`, { name: 'Renamed at last' }, { as: owner.token })
  const held = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await sql(held)).length === 0) await sleep(10)
  const stopped = service.close(0)
  await sleep(200)
  await holder.query('commit')
  expect((await answer).body.name).toBe('Renamed at last')
  const sinceAnswered = startTicking()
  await stopped
  expect(sinceAnswered()).toBeLessThan(5000)
})
