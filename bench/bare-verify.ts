// What verifying is held against: Fastify with a schema, one SHA-256 and a look into a Map (the limit of what one process
// can do), one SELECT through `pg` instead, or one durable UPDATE that the requests of the same moment share. Run as a
// process of its own: MODE, DATABASE_URL.

import { createHash, hash } from 'node:crypto'
import Fastify from 'fastify'
import pg from 'pg'
import { connect } from '../src/db/pool.ts'
import { spendOne } from './bare-update.ts'

const record = {
  type: 'object',
  properties: {
    valid: { type: 'boolean' },
    code: { type: 'string' },
    keyId: { type: 'string' },
    storeId: { type: 'string' },
    name: { type: 'string' },
    type: { type: 'string' },
    permissions: { type: 'array', items: { type: 'string' } },
    metadata: { type: 'object', additionalProperties: true },
    expiresAt: { type: 'string', nullable: true },
  },
}
const schema = {
  body: {
    type: 'object',
    required: ['key'],
    additionalProperties: false,
    properties: { key: { type: 'string' }, permissions: { type: 'array', items: { type: 'string' } } },
  },
  response: { 200: record },
}

const app = Fastify()
const pool = process.env.MODE === 'select' ? new pg.Pool({ connectionString: process.env.DATABASE_URL }) : null
const db = process.env.MODE === 'update' ? connect({ connectionString: process.env.DATABASE_URL as string }) : null
const found = {
  id: 'key_01k9wz3v5e8tvs8v4m8m3v5yqd',
  store_id: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd',
  name: 'Checkout',
  type: 'PROD',
  permissions: ['READ', 'WRITE'],
  metadata: { description: 'Used by the checkout page' },
}
const known = new Map<string, typeof found>()

app.post<{ Body: { key: string; permissions?: string[] } }>('/verify', { schema }, async (request) => {
  const { key, permissions = [] } = request.body
  const name = hash('sha256', key, 'base64')
  // The Map fills itself: what is measured is a process that knows every key, each by a record of its own.
  let row = known.get(name)
  if (pool) {
    const { rows } = await pool.query(
      `select id, store_id, name, type, permissions, metadata from api_keys where hash = $1 and revoked_at is null`,
      [createHash('sha256').update(key).digest()],
    )
    row = rows[0] ?? found
  } else if (!row) known.set(name, JSON.parse(JSON.stringify(found)))
  if (db) await db.batched(spendOne, { id: name })
  const { id, store_id, ...rest } = row ?? found
  const valid = permissions.every((permission) => rest.permissions.includes(permission))
  return {
    valid,
    code: valid ? 'VALID' : 'INSUFFICIENT_PERMISSIONS',
    keyId: id,
    storeId: store_id,
    ...rest,
    expiresAt: null,
  }
})

await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
process.stdout.write(
  `${JSON.stringify({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, msg: 'listening' })}\n`,
)
