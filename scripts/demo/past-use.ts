// The use of the demo's keys in the weeks before it was made. No API tells of a use that never was, so it is written into the
// database, by whoever runs the service: with the settings of the service (DATABASE_URL or DATA_DIR).

import { withDatabase } from '../../src/cli/with-database.ts'
import type { Db } from '../../src/db/db.ts'
import { sql } from '../../src/db/sql.ts'
import type { DemoKey } from './data.ts'

const HOUR = 3_600_000
const WEEKS = 7

type MadeKey = DemoKey & { id: string }
type Row = { key_id: string; at: string; outcome: string; count: number }

/** False when the settings lead to another database than that of the service, or to none. */
export async function writePastUse(keys: MadeKey[], storeIds: string[]): Promise<boolean> {
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  let written = false
  try {
    // Of what a command has of the world, opening a database needs these.
    const io = { env: process.env, say } as Parameters<typeof withDatabase>[0]
    await withDatabase(io, async (db) => {
      const ids = keys.map(({ id }) => id)
      const known = await db.query(sql`select id from api_keys where id = any(${ids})`)
      if (known.length !== ids.length) return
      await write(db, keys)
      await db.query(sql`
        update stores
           set created_at = created_at - interval '8 weeks'
         where id = any(${storeIds})`)
      written = true
    })
  } catch (error) {
    say(`The database could not be opened: ${(error as Error).message}`)
  }
  return written
}

async function write(db: Db, keys: MadeKey[]): Promise<void> {
  const now = Date.now()
  for (const key of keys) {
    const rows = useOf(key, now)
    await db.query(sql`
      insert into key_usage (key_id, grain, at, outcome, count)
      select key_id, 'hour', at, outcome, count
        from json_to_recordset(${JSON.stringify(rows)})
             as row(key_id text, at timestamptz, outcome text, count bigint)
          on conflict do nothing`)
    const lastUsed = rows.at(-1)?.at ?? null
    await db.query(sql`
      update api_keys
         set created_at = created_at - make_interval(weeks => ${WEEKS}),
             last_used_at = coalesce(last_used_at, ${lastUsed}::timestamptz)
       where id = ${key.id}`)
    for (const permission of key.needed)
      await db.query(sql`
        insert into key_permission_use (key_id, permission, at)
        values (${key.id}, ${permission}, ${lastUsed ?? new Date(now).toISOString()})
            on conflict do nothing`)
  }
}

/** More by day than by night, less at weekends, and never quite the same. */
function useOf({ id, calls, refused, idleDays = 0 }: MadeKey, now: number): Row[] {
  const rows: Row[] = []
  const thisHour = now - (now % HOUR)
  if (calls === 0) return rows
  for (let at = thisHour - WEEKS * 7 * 24 * HOUR; at < thisHour - idleDays * 24 * HOUR; at += HOUR) {
    const moment = new Date(at)
    const [hour, day] = [moment.getUTCHours(), moment.getUTCDay()]
    const byDay = Math.max(0.05, Math.sin(((hour - 5) / 17) * Math.PI)) * (day === 0 || day === 6 ? 0.45 : 1)
    const count = Math.round(calls * byDay * (0.7 + 0.6 * noise(`${id}${at}`)))
    const denied = refused ? Math.round(count * refused.share * 2 * noise(`${at}${id}`)) : 0
    if (count - denied > 0) rows.push({ key_id: id, at: moment.toISOString(), outcome: 'VALID', count: count - denied })
    if (refused && denied > 0)
      rows.push({ key_id: id, at: moment.toISOString(), outcome: refused.outcome, count: denied })
  }
  return rows
}

/** Between 0 and 1, the same for the same text. */
function noise(text: string): number {
  let hash = 2_166_136_261
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) as number), 16_777_619) >>> 0
  return hash / 2 ** 32
}
