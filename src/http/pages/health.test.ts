import { expect, onTestFinished, test, vi } from 'vitest'
import { proxyTo } from '../../../tests/db-proxy.ts'
import { newDatabase } from '../../../tests/shop.ts'
import { connect } from '../../db/pool.ts'
import { sql } from '../../db/sql.ts'
import { readiness } from './health.ts'

const NOWHERE = 'postgres://nobody@127.0.0.1:1/none'

test('those who ask at the same time whether a node is ready ask its database once', async () => {
  const db = connect({ connectionString: await newDatabase() })
  onTestFinished(() => db.close())
  await db.one(sql`select 1`)
  const asked = vi.spyOn(db.lookUps, 'one')
  const ready = () => Promise.all(Array.from({ length: 100 }, async () => (await readiness(db, false)).status))
  expect(new Set(await ready())).toEqual(new Set([200]))
  expect(asked).toHaveBeenCalledTimes(1)
  await ready()
  expect(asked).toHaveBeenCalledTimes(2)
})

test('a node is not ready that can look up callers and can open no connection to serve them', async () => {
  const url = await newDatabase()
  const wire = await proxyTo(url)
  const db = connect({ connectionString: wire.url })
  onTestFinished(() => db.close())
  await db.lookUps.one(sql`select 1`)
  wire.leadTo(NOWHERE)
  expect(await db.lookUps.one(sql`select 1 as it`)).toEqual({ it: 1 })
  expect(await readiness(db, false)).toMatchObject({ status: 503, body: '{"status":"the database does not answer"}' })
  wire.leadTo(url)
  expect((await readiness(db, false)).status).toBe(200)
  // As long as it has one it serves.
  wire.leadTo(NOWHERE)
  expect((await readiness(db, false)).status).toBe(200)
})
