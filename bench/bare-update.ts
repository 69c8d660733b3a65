// What spending a credit is held against: one durable UPDATE of a row by its id, which the requests of the same moment share
// through the batcher of the service.

import type { Batch } from '../src/db/db.ts'
import { recordset } from '../src/db/recordset.ts'
import { sql } from '../src/db/sql.ts'

const spent = recordset('spent', { id: 'text' })

export const spendOne: Batch<{ id: string }, number> = async (db, rows) => {
  const left = await db.query<{ remaining: number }>(sql`
    with request as (
      select row_number() over () as n, id
        from ${spent(rows)}
    ), bare as (
      update bare_credits
         set remaining = bare_credits.remaining - request.uses
        from (select id, count(*) as uses from request group by id) as request
       where bare_credits.id = request.id
      returning bare_credits.id, bare_credits.remaining::float8
    )
    select bare.remaining
      from request
      join bare on bare.id = request.id
     order by request.n`)
  return left.map(({ remaining }) => remaining)
}
// As what keys spend: batches are sent at the same moments, over as many connections.
spendOne.highPriority = true
