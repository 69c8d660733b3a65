// What can be asked for again under its Idempotency-Key, and what the tests of it share.

import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, type Reply, type Shop } from './shop.ts'

/** One of each kind: secret or not, in a batch or in a transaction of its own. */
export const POSTS: { what: string; table: string; path: (world: Shop) => string; body: object }[] = [
  { what: 'a key', table: 'api_keys', path: ({ keys }) => keys, body: NEW_KEY },
  {
    what: 'an invitation',
    table: 'invitations',
    path: invitations,
    body: { email: 'staff@example.com', role: 'STAFF' },
  },
  { what: 'an address', table: 'addresses', path: ({ billing }) => billing, body: NEW_ADDRESS },
  { what: 'a store', table: 'stores', path: () => '/v1/user/store', body: { name: 'Another shop' } },
]

export function once(key: string): Record<string, string> {
  return { 'idempotency-key': key }
}

export function invitations({ store }: Pick<Shop, 'store'>): string {
  return `/v1/user/store/${store.id}/invitations`
}

/** All of an answer that a retry must get again. */
export function wire({ status, text, headers }: Reply) {
  const kept = ['content-type', 'location', 'etag', 'cache-control'].map((name) => [name, headers.get(name)])
  return { status, text, ...Object.fromEntries(kept), replayed: headers.get('idempotent-replayed') }
}

export function gone(reply: Reply, path: string, id: string) {
  return {
    type: '/errors/secret_no_longer_available',
    title: 'Secret no longer available',
    status: 409,
    detail: expect.stringContaining('"resource" names what it created'),
    instance: path,
    code: 'secret_no_longer_available',
    requestId: reply.headers.get('x-request-id'),
    resource: { id },
  }
}

export async function count({ sql }: Pick<Shop, 'sql'>, table: string, condition = 'true'): Promise<number> {
  return (await sql(`select count(*)::int as n from ${table} where ${condition}`))[0].n
}

export async function countAll(world: Shop, tables: string[]): Promise<number[]> {
  const counts: number[] = []
  for (const table of tables) counts.push(await count(world, table))
  return counts
}

export function together<T>(many: number, send: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: many }, (_, i) => send(i)))
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20)))
    if (await condition()) return
  throw new Error('It did not happen.')
}

export async function client(connectionString: string): Promise<pg.Client> {
  const made = new pg.Client({ connectionString })
  made.on('error', () => {})
  await made.connect()
  onTestFinished(() => made.end())
  return made
}

/** Every write of that kind to the table fails, at once or at the commit, until it is allowed again. */
export async function refuse(sql: Shop['sql'], table: string, when: 'insert' | 'update' | 'commit'): Promise<void> {
  await sql('create sequence if not exists refusals')
  await sql(`create or replace function refuse() returns trigger language plpgsql as
             $$ begin perform nextval('refusals'); raise exception 'refused'; end $$`)
  await sql(
    when === 'commit'
      ? `create constraint trigger refused after insert on ${table} deferrable initially deferred for each row execute function refuse()`
      : `create trigger refused before ${when} on ${table} for each row execute function refuse()`,
  )
}

export async function allow(sql: Shop['sql'], table: string): Promise<void> {
  await sql(`drop trigger refused on ${table}`)
}
