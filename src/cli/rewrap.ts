// Moves what is kept under the previous server secret to the current one: the keys of users and of holds, the secrets of
// webhooks, and the hashes that customers are found by. All of it is small, and is written anew a batch at a time.

import { rewrapDataKey } from '../auth/data-key.ts'
import { now } from '../core/clock.ts'
import type { Keyring } from '../crypto/keyring.ts'
import {
  type CustomerRow,
  customerColumns,
  emailColumns,
  hex,
  unsealRecord,
  wrappedKeyOf,
} from '../customers/record.ts'
import type { Db } from '../db/db.ts'
import { type Sql, sql } from '../db/sql.ts'
import { resealSecret } from '../webhooks/signature.ts'
import type { InterruptFlag } from './interrupt.ts'
import type { Io } from './io.ts'

const BATCH = 500
/** A statement may take 5 seconds, so a whole table is counted in steps. */
const COUNTED_AT_ONCE = 50_000

/** Rows of one kind that are under a secret: how many, a batch of those after an id, and how it is moved. */
type Rewrapper<Row extends { id: string }> = {
  what: string
  count(): Promise<number>
  next(after: string): Promise<Row[]>
  write(rows: Row[]): Promise<unknown>
}

/** Each batch is a statement of its own: stopped at any moment, the next run goes on with what is left. */
export async function rewrap(db: Db, keyring: Keyring, io: Io): Promise<void> {
  const { current, previous } = keyring
  await db.query(sql`
    insert into server_secret (kid, since)
    values (${current.kid}, ${now()})
        on conflict (n) do update
       set kid = excluded.kid, since = excluded.since
     where server_secret.kid <> excluded.kid`)
  if (!previous) return io.say('There is no previous secret, so there is nothing to re-encrypt.')
  const interrupt = io.interruptFlag()
  try {
    await move(keysUnder(db, keyring, previous.kid, 'users'), interrupt, io)
    await move(keysUnder(db, keyring, previous.kid, 'holds'), interrupt, io)
    await move(webhooksUnder(db, keyring, previous.kid), interrupt, io)
    await move(customersUnder(db, keyring, previous.kid), interrupt, io)
  } finally {
    interrupt.close()
  }
}

/** In rounds, until one finds no row: a row that was changed between its reading and its writing is left for the next. */
async function move<Row extends { id: string }>(
  mover: Rewrapper<Row>,
  interrupt: InterruptFlag,
  io: Io,
): Promise<void> {
  const all = await mover.count()
  const began = performance.now()
  for (let done = 0, after = ''; ; ) {
    const rows = await mover.next(after)
    if (rows.length === 0 && after === '') break
    if (rows.length > 0 && interrupt.raised)
      throw new Error(
        `Stopped. ${Math.max(0, all - done)} ${mover.what} are left. Run "secret rewrap" again to continue.`,
      )
    after = rows.at(-1)?.id ?? ''
    if (rows.length === 0) continue
    await mover.write(rows)
    done += rows.length
    const perSecond = Math.round((done * 1000) / (performance.now() - began))
    io.say(`${done} of ${all} ${mover.what}, ${perSecond}/s, ${Math.max(0, all - done)} left`)
  }
}

/** Where wrapped keys are kept. */
const KEY_TABLES = { users: sql`users`, holds: sql`address_holds` }

type WrappedKeyRow = { id: string; data_key: Buffer; data_key_kid: string }

function keysUnder(db: Db, keyring: Keyring, kid: string, what: keyof typeof KEY_TABLES): Rewrapper<WrappedKeyRow> {
  const table = KEY_TABLES[what]
  return {
    what,
    count: () => countRows(db, table, sql`data_key_kid = ${kid}`),
    next: (after) =>
      db.query(sql`
        select id, data_key, data_key_kid
          from ${table}
         where id > ${after}
           and data_key_kid = ${kid}
         order by id
         limit ${BATCH}`),
    write: (rows) => writeKeys(db, keyring, table, rows),
  }
}

/** A user who was erased since the batch was read has no data key any more, and gets none; nor does a hold that ended. */
async function writeKeys(db: Db, keyring: Keyring, table: Sql, rows: WrappedKeyRow[]): Promise<void> {
  const moved = rows.map(({ id, data_key, data_key_kid }) => {
    const { wrapped, kid } = rewrapDataKey(keyring, { id, dataKey: data_key, dataKeyKid: data_key_kid })
    return { id, before: data_key.toString('hex'), data_key: wrapped.toString('hex'), data_key_kid: kid }
  })
  await db.query(sql`
    update ${table} wrapped
       set data_key = decode(moved.data_key, 'hex'), data_key_kid = moved.data_key_kid
      from json_to_recordset(${JSON.stringify(moved)})
           as moved(id text, before text, data_key text, data_key_kid text)
     where wrapped.id = moved.id
       and wrapped.data_key = decode(moved.before, 'hex')`)
}

type SealedWebhookRow = {
  id: string
  secret: Buffer
  secret_kid: string
  previous_secret: Buffer | null
  previous_secret_kid: string | null
}

function webhooksUnder(db: Db, keyring: Keyring, kid: string): Rewrapper<SealedWebhookRow> {
  const under = sql`(secret_kid = ${kid} or previous_secret_kid = ${kid})`
  return {
    what: 'webhooks',
    count: () => countRows(db, sql`webhooks`, under),
    next: (after) =>
      db.query(sql`
        select id, secret, secret_kid, previous_secret, previous_secret_kid
          from webhooks
         where id > ${after}
           and ${under}
         order by id
         limit ${BATCH}`),
    write: (rows) => writeSecrets(db, keyring, kid, rows),
  }
}

/** Writes both secrets of a webhook and neither its revision nor its state. One that was rotated since is read anew. */
async function writeSecrets(db: Db, keyring: Keyring, under: string, rows: SealedWebhookRow[]): Promise<void> {
  const hex = (bytes: Buffer | null) => bytes?.toString('hex') ?? null
  const moved = rows.map((row) => {
    const reseal = (sealed: Buffer | null, kid: string | null) =>
      sealed && kid === under ? resealSecret(keyring, row.id, { sealed, kid }) : { sealed, kid }
    const secret = reseal(row.secret, row.secret_kid)
    const previous = reseal(row.previous_secret, row.previous_secret_kid)
    return {
      id: row.id,
      before: hex(row.secret),
      secret: hex(secret.sealed),
      secret_kid: secret.kid,
      previous_before: hex(row.previous_secret),
      previous_secret: hex(previous.sealed),
      previous_secret_kid: previous.kid,
    }
  })
  await db.query(sql`
    update webhooks
       set secret = decode(moved.secret, 'hex'),
           secret_kid = moved.secret_kid,
           previous_secret = decode(moved.previous_secret, 'hex'),
           previous_secret_kid = moved.previous_secret_kid
      from json_to_recordset(${JSON.stringify(moved)})
           as moved(id text, before text, secret text, secret_kid text, previous_before text, previous_secret text,
                    previous_secret_kid text)
     where webhooks.id = moved.id
       and webhooks.secret = decode(moved.before, 'hex')
       and webhooks.previous_secret is not distinct from decode(moved.previous_before, 'hex')`)
}

type HashedCustomerRow = CustomerRow & { id: string; email_hash: Buffer }

/** Customers have no id of their own here: they are walked through by their user and store. */
function isAfter(position: string): Sql {
  return sql`(customer.user_id, customer.store_id) > (split_part(${position}, ' ', 1), split_part(${position}, ' ', 2))`
}

function customersUnder(db: Db, keyring: Keyring, kid: string): Rewrapper<HashedCustomerRow> {
  return {
    what: 'customers',
    count: () => countCustomers(db, sql`email_hash_kid = ${kid}`),
    next: (after) =>
      db.query(sql`
        select customer.user_id || ' ' || customer.store_id as id, customer.email_hash, ${customerColumns}
          from customers customer
          join users person on person.id = customer.user_id and person.data_key is not null
         where ${isAfter(after)}
           and customer.email_hash_kid = ${kid}
         order by customer.user_id, customer.store_id
         limit ${BATCH}`),
    write: (rows) => writeHashes(db, keyring, rows),
  }
}

/** A customer whose e-mail was changed since the batch was read has a new hash already. */
async function writeHashes(db: Db, keyring: Keyring, rows: HashedCustomerRow[]): Promise<void> {
  const moved = rows.map((row) => ({
    store_id: row.store_id,
    user_id: row.user_id,
    before: hex(row.email_hash),
    ...emailColumns(keyring, row.store_id, unsealRecord(keyring, wrappedKeyOf(row), row).email),
  }))
  await db.query(sql`
    update customers
       set email_hash = moved.email_hash, email_hash_kid = moved.email_hash_kid
      from json_to_recordset(${JSON.stringify(moved)})
           as moved(store_id text, user_id text, before bytea, email_hash bytea, email_hash_kid text)
     where customers.store_id = moved.store_id
       and customers.user_id = moved.user_id
       and customers.email_hash = moved.before`)
}

// ---- counting ---------------------------------------------------------------------------------------------------------

export function countRows(db: Db, table: Sql, which: Sql): Promise<number> {
  return countInSteps(
    db,
    (after) =>
      sql`
      select max(id) as last, count(*) filter (where ${which})::int as count
        from (select * from ${table} where id > ${after} order by id limit ${COUNTED_AT_ONCE}) as step`,
  )
}

export function countCustomers(db: Db, which: Sql): Promise<number> {
  return countInSteps(
    db,
    (after) => sql`
      select max(user_id || ' ' || store_id) as last, count(*) filter (where ${which})::int as count
        from (select *
                from customers customer
               where ${isAfter(after)}
               order by customer.user_id, customer.store_id
               limit ${COUNTED_AT_ONCE}) as step`,
  )
}

async function countInSteps(db: Db, step: (after: string) => Sql): Promise<number> {
  let count = 0
  for (let after: string | null = ''; after !== null; ) {
    const found: { last: string | null; count: number } | null = await db.one(step(after))
    count += found?.count ?? 0
    after = found?.last ?? null
  }
  return count
}
