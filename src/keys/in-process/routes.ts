// The routes for back ends that verify in their own process.

import type { ServiceCaller } from '../../core/caller.ts'
import { type Fault, fail, failInput } from '../../core/errors.ts'
import { type Route, route } from '../../core/route.ts'
import { parseStores, parseVerification } from '../input.ts'
import { type Question, showVerdict, Verification } from '../schema.ts'
import { spendOnce } from '../spend.ts'
import { CHANGES_PATH, ChangesQuery, LEASE_PATH, LeasedVerdict, ReportAccepted, UsageReport } from './schema.ts'
import { streamChanges } from './stream.ts'

export const inProcessRoutes: Route[] = [
  route(
    {
      id: 'keys.changes',
      method: 'GET',
      path: CHANGES_PATH,
      needs: 'service',
      summary: 'Follow the changes of keys',
      description:
        'For a back end that keeps verdicts in its own memory: the ids of keys and stores that changed, as server-sent events (`text/event-stream`). Use a client library that does this for you, because the rules for relying on it are strict. Each frame has an `event`, an `id` counted from 1 on each stream, and JSON as `data`. `hello {node, at, from, prefix, catalogue, beatMs, trustMs}` comes first: since `from`, every change is told on this stream. `changed {ids}`: drop what you keep about these keys, and about all keys of these stores. `beat {heardUpTo}`: every change committed before that moment stands above this frame. `reset {from}`: the node missed changes, so begin as after `hello`. `bye {}`: reconnect at once; a stream lives about 30 seconds. Times are milliseconds on the clock of the node. A stream names only what belongs to the stores of your service token, and ends when the token is revoked or bound to other stores. If a frame is missing or unknown to you, forget what you keep. Each token may have 2,000 streams on a node; tokens for one store share the 2,000 of the store, or as many as are free if that is less.',
      query: ChangesQuery,
      returns: [200, null],
      answer: 'changes',
    },
    async ({ caller, query, changes, request: { receivedAt } }) => {
      const asked = { serviceId: caller.id, storeIds: caller.storeIds, receivedAt, backMs: query.back ?? 0 }
      if (!changes.canJoin(asked)) fail('unavailable', { retryAfterSeconds: 1 })
      return { body: null, stream: (closing) => streamChanges(changes, asked, closing) }
    },
  ),
  route(
    {
      id: 'keys.lease',
      method: 'POST',
      path: LEASE_PATH,
      needs: 'service',
      summary: 'Verify a key, to keep the verdict',
      description:
        'Verification for a back end that keeps verdicts in its own memory, while it follows the changes of keys. The request is that of `POST /v1/keys/verify`, and so is the verdict; it counts as a use of the key. `lease` says how long ago the verdict was certainly true, and for how long the key lasts. It is `null`, and the verdict must not be kept, unless the key is `VALID` and has no rate limit, no named limits and no credits. The verdict on an imported key can be kept only with a service token for a single store.',
      body: Verification,
      parse: parseVerification,
      handlesFaults: true,
      returns: [200, LeasedVerdict],
      errors: ['response_no_longer_available'],
      storedWithoutMetadata: true,
      // Only what a key spends is written, and that by a batch.
      effect: 'own',
      access: 'unchanged',
      answersStale: true,
      example: {
        body: { key: 'skp_prod_4fQx', storeId: 'store_01k9wz3v5e8tvs8v4m8m3v5yqd', permissions: ['READ'] },
      },
    },
    async ({ verifier, caller, body, faults, idempotency, changes, request: { receivedAt } }) => {
      const question = questionOf(caller, body, faults)
      if (body.explain)
        return { body: { ...showVerdict(await verifier.explain(question)), lease: null }, changedKeys: [] }
      const once = spendOnce(idempotency, (verdict) => ({ ...verdict, lease: null }))
      const { storeIds } = caller
      const { verdict, lease } = await verifier.lease(question, { receivedAt, storeIds }, once)
      const terms = lease && { ...lease, node: changes.node, catalogue: changes.catalogueOf(storeIds) }
      return { body: { ...showVerdict(verdict), lease: terms }, changedKeys: [] }
    },
  ),
  route(
    {
      id: 'keys.reportUsage',
      method: 'POST',
      path: '/v1/keys/usage',
      needs: 'service',
      summary: 'Report uses of keys',
      description:
        'What a back end counted that verifies in its own process. Each process chooses a random `reporter` when it starts, numbers its reports with `seq`, and has one report under way at a time. The response comes when the counts are written. If there is none, send the same report again under the same number, for up to a day: it counts once. A number that is not larger than the last is not counted, and gets the same response. Keys that do not belong to the stores of your service token are passed over, like those that do not exist. All tokens of the stores of one account may report 16 MiB a minute to a node: then 429, and the counts of a later report can be added up. Of each token, some 5,000 processes that reported last are remembered.',
      body: UsageReport,
      meteredBody: true,
      returns: [200, ReportAccepted],
      // A number is written once, so a retry needs no Idempotency-Key.
      effect: 'own',
      access: 'unchanged',
      example: {
        body: {
          reporter: 'x3vGm1Yp0Qw8Zr5TnB7kLd',
          seq: 1,
          counts: [
            {
              keyId: 'key_01k9wz3v5e8tvs8v4m8m3v5yqd',
              secret: 1,
              valid: 120,
              agoMs: 850,
              permissions: { READ: 850 },
            },
          ],
        },
      },
    },
    async ({ caller, body, usageReports, request: { at } }) => {
      await usageReports.add({ ...body, serviceId: caller.id, storeIds: caller.storeIds, at })
      return { body: {}, changedKeys: [] }
    },
  ),
]

function questionOf(caller: ServiceCaller, asked: Verification, faults: Fault[]): Question {
  const { explain: _, storeId, anyStore, ...question } = asked
  const stores = parseStores(caller.storeIds, { storeId, anyStore }, faults)
  if (faults.length > 0) failInput(faults)
  return { ...question, stores, serviceId: caller.id, askerKnownAt: caller.knownAt }
}
