// The service's own server, with a verifier that knows nothing of keys: each question is one SHA-256 and one bare, durable
// UPDATE. Beside it one sees what credits cost, since everything else is the same: HTTP, the service token, the batcher. Run
// as a process of its own: DATABASE_URL, SERVER_SECRET.

import { hash } from 'node:crypto'
import pino from 'pino'
import { newCallerCache } from '../src/auth/caller-cache.ts'
import { newKeyCache } from '../src/auth/key-cache.ts'
import { readConfig } from '../src/config.ts'
import { newResolve } from '../src/core/dns.ts'
import { NEVER } from '../src/core/moment.ts'
import { ServerKeys } from '../src/crypto/keyring.ts'
import { connect } from '../src/db/pool.ts'
import type { Pipeline } from '../src/http/context.ts'
import { newMetrics } from '../src/http/metrics.ts'
import { newParseTurns } from '../src/http/parse-turns.ts'
import { buildServer } from '../src/http/server.ts'
import { newInstance } from '../src/instance.ts'
import type { KeptVerdict, Verifier } from '../src/keys/schema.ts'
import { MAX_IDENTIFYING, newLoadShedder } from '../src/limits/load-shedding.ts'
import { newTenantShares } from '../src/limits/tenant-shares.ts'
import { newServiceRateLimit } from '../src/limits/token-bucket.ts'
import { routes } from '../src/routes.ts'
import { spendOne } from './bare-update.ts'

const { DATABASE_URL = '', SERVER_SECRET = '' } = process.env
const keyring = { current: new ServerKeys(Buffer.from(SERVER_SECRET, 'base64')), previous: null }
const db = connect({ connectionString: DATABASE_URL })

const VERDICT: KeptVerdict = {
  valid: true,
  code: 'VALID',
  keyId: 'key_01k9wz3v5e8tvs8v4m8m3v5yqd',
  storeId: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd',
  name: 'Checkout',
  type: 'PROD',
  permissions: ['READ', 'WRITE'],
  metadata: '{"description":"Used by the checkout page"}',
  expiresAt: null,
  owner: null,
}
const verifier: Pick<Verifier, 'verify' | 'verifyNow'> = {
  verifyNow: () => null,
  verify: async ({ key }) => {
    const remaining = await db.batched(spendOne, { id: hash('sha256', key, 'base64') })
    return { kept: VERDICT, more: { credits: { remaining, refillsAt: null } } }
  },
}

const keys = newKeyCache(
  db,
  keyring,
  () => null,
  () => NEVER,
)
const load = newLoadShedder()
const nothing = { readings: {}, totals: {}, databaseRole: async () => 'primary', works: [], chores: [] }
// Whatever else the service has is not asked for: there is one path here.
const pipeline = {
  db,
  instance: newInstance(readConfig(process.env), keyring, newResolve()),
  auth: { jwt: null, oidc: null, caches: { callers: newCallerCache(), keys }, corsOrigins: [], signatures: {} },
  limits: {
    rate: null,
    services: newServiceRateLimit(null),
    load,
    shares: newTenantShares(load.limit),
    identifying: newTenantShares(() => MAX_IDENTIFYING),
    parseTurns: newParseTurns(),
  },
  accountOf: async () => 'one',
  verifier,
  metrics: newMetrics(nothing as never),
  spans: null,
  log: pino({ level: 'silent' }),
  draining: () => false,
  onChange: () => {},
} as unknown as Pipeline
const { app } = await buildServer(pipeline, routes, [], false)
process.stdout.write(`${JSON.stringify({ url: await app.listen({ host: '127.0.0.1', port: 0 }) })}\n`)
