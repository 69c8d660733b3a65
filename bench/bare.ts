// What we hold ourselves against: Fastify with a schema and nothing else, and Fastify with one prepared INSERT of a key and
// its event through `pg`, into plain tables: a primary key and a unique hash, no trigger, no count, nothing looked up. Run as
// a process of its own: MODE, DATABASE_URL.

import { randomBytes } from 'node:crypto'
import Fastify from 'fastify'
import pg from 'pg'

const schema = {
  body: {
    type: 'object',
    required: ['name', 'type', 'permissions'],
    additionalProperties: false,
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 100 },
      type: { type: 'string', enum: ['PROD', 'TEST', 'DEV'] },
      permissions: { type: 'array', items: { type: 'string' }, minItems: 1 },
      metadata: { type: 'object' },
    },
  },
  response: {
    201: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        name: { type: 'string' },
        type: { type: 'string' },
        permissions: { type: 'array', items: { type: 'string' } },
        key: { type: 'string' },
      },
    },
  },
}

type Body = { name: string; type: string; permissions: string[]; metadata?: object }

const app = Fastify()
const pool = process.env.MODE === 'insert' ? new pg.Pool({ connectionString: process.env.DATABASE_URL }) : null

app.post<{ Body: Body; Params: { store: string } }>('/:store/keys', { schema }, async (request, reply) => {
  const { name, type, permissions, metadata } = request.body
  const id = `key_${randomBytes(13).toString('hex')}`
  const hash = randomBytes(32)
  if (pool)
    await pool.query({
      name: 'insert',
      text: `with key as (
               insert into bare_keys (id, store_id, name, type, permissions, metadata, start, hash, created_at)
               values ($1, $2, $3, $4, $5, $6, 'skp_prod_abcd', $7, now())
             )
             insert into bare_events (id, store_id, type, at, actor, subject, data)
             values ($8, $2, 'key.created', now(), '{"kind":"user"}', $1, '{}')`,
      values: [id, request.params.store, name, type, permissions, metadata ?? {}, hash, `evt_${id}`],
    })
  return reply.code(201).send({ id, name, type, permissions, key: 'skp_prod_000000000000000000000000000000000000' })
})

await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
process.stdout.write(
  `${JSON.stringify({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, msg: 'listening' })}\n`,
)
