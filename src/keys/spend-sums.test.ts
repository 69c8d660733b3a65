import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { shop } from '../../tests/shop.ts'
import { connect } from '../db/pool.ts'
import { sql } from '../db/sql.ts'
import { type Purchase, settle, type WindowRow } from './purchase.ts'
import { spendWindows } from './spend-sums.ts'

const LIMIT = 5

/** Two keys of one owner who share a window, and one that shares nothing. */
const sharings = { a: 'owner', b: 'owner', c: 'c' }
const windowsOf = { a: ['a:1', 'a:2', 'owner:1'], b: ['b:1', 'owner:1'], c: ['c:1', 'c:2'] }

const purchase = fc.constantFrom('a' as const, 'b' as const, 'c' as const).chain((keyId) =>
  fc.record({
    keyId: fc.constant(keyId),
    costs: fc.dictionary(fc.constantFrom(...windowsOf[keyId]), fc.nat(3)),
  }),
)
/** What a window has seen: nothing (null: it was never begun), or so much, until now or until an hour ago. */
const state = fc.option(fc.record({ used: fc.nat(LIMIT + 2), isOver: fc.boolean() }))
const states = fc.record(
  Object.fromEntries([...new Set(Object.values(windowsOf).flat())].map((id) => [id, state])) as Record<
    string,
    typeof state
  >,
)

test('those who share a window all get what they ask for, or nobody takes anything', async () => {
  const { databaseUrl } = await shop()
  const db = connect({ connectionString: databaseUrl })
  onTestFinished(() => db.close())
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(purchase, { minLength: 1, maxLength: 8 }), states, async (bought, before) => {
      const name = (id: string) => `spend-sums ${run} ${id}`
      run += 1
      const begun = Object.entries(before).flatMap(([id, seen]) => (seen ? [{ id: name(id), ...seen }] : []))
      await db.query(sql`
        insert into key_rate_windows (id, began_at, seconds, used)
        select id, clock_timestamp() - case when "isOver" then interval '2 h' else interval '0 h' end, 3600, used
          from json_to_recordset(${JSON.stringify(begun)}) as begun(id text, used int, "isOver" boolean)`)
      const purchases = bought.map(({ keyId, costs }): Purchase => {
        const windows = Object.entries(costs).map(([id, cost]) => ({ id: name(id), name: id, cost }))
        return {
          storeId: 'store_a',
          keyId,
          keyRevision: 1,
          cost: null,
          windows: windows.map((window) => ({ ...window, limit: LIMIT, seconds: 3600 })),
          sharing: sharings[keyId],
          listsLimits: true,
        }
      })
      const receipts = await spendWindows(db, purchases)

      const running = new Map(
        begun.map(({ id, used, isOver }): [string, WindowRow] => [
          id,
          { id, used: isOver ? 0 : used, reset_seconds: 3600 },
        ]),
      )
      const books = new Map([...running].map(([id, { used }]) => [id, used]))
      for (const sharing of new Set(purchases.map((row) => row.sharing))) {
        const theirs = purchases.flatMap((row, n) => (row.sharing === sharing ? [{ row, receipt: receipts[n] }] : []))
        const wanted = new Map<string, number>()
        for (const { id, cost } of theirs.flatMap(({ row }) => row.windows))
          wanted.set(id, (wanted.get(id) ?? 0) + cost)
        const isEnough = [...wanted].every(([id, cost]) => {
          const row = running.get(id)
          return row !== undefined && (cost === 0 || row.used + cost <= LIMIT)
        })
        if (isEnough) for (const [id, cost] of wanted) books.set(id, (books.get(id) ?? 0) + cost)
        // Nothing is asked of one without windows, which is no reason to refuse it.
        for (const { row, receipt } of theirs)
          if (row.windows.length > 0)
            expect(receipt).toEqual(isEnough ? settle(row, { credits: new Map(), windows: running }, new Set()) : null)
      }
      const rows = await db.query<{ id: string; used: number; is_over: boolean }>(sql`
        select id, used, began_at + seconds * interval '1 s' <= clock_timestamp() as is_over
          from key_rate_windows
         where id = any(${[...books.keys()]})`)
      for (const { id, used, is_over } of rows) expect(is_over ? 0 : used).toBe(books.get(id))
    }),
    { numRuns: 150 },
  )
})
