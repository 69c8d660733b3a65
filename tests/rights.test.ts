// Rights over HTTP against their model (rights-model.ts): random sequences of everything that can be asked of a store, each
// in a store of its own, many at once, at two nodes. `npm run stress:rights` runs 20,000 of them. A failure prints the
// seed, and the sequence, shrunk; SEED=… runs it again.

import { expect, test } from 'vitest'
import { newRandom } from './random.ts'
import { runOperationsOverHttp, runOverHttp } from './rights-http.ts'
import { ENDINGS, raceAnEnding } from './rights-races.ts'
import { search } from './rights-search.ts'
import { STORIES } from './rights-stories.ts'
import { type Nodes, oneAtATime } from './rights-tenant.ts'
import { type Shop, shop } from './shop.ts'

const AT_ONCE = 8
const LIMIT_MS = 5_000

test('every story that a rule stops on the model is stopped by the service', async () => {
  const nodes = await twoNodes(await shop())
  const faults: Record<string, string> = {}
  for (const [rule, { operations }] of Object.entries(STORIES)) {
    const fault = await runOperationsOverHttp(nodes, operations, (_, operation) => operation)
    if (fault !== null) faults[rule] = fault.told
  }
  expect(faults).toEqual({})
})

test('nobody holds what no living grantor gave: the service allows, refuses and keeps what the model of rights does', async () => {
  const nodes = await twoNodes(await shop())
  const end = Date.now() + LIMIT_MS
  const { seed } = newRandom()
  const { done, findings } = await search({
    seed,
    from: 0,
    to: 100_000,
    maxLength: 16,
    atOnce: AT_ONCE,
    run: (sequence) => runOverHttp(nodes, sequence),
    goesOn: () => Date.now() < end,
  })
  expect(findings.map(({ kind, told, times }) => `SEED=${seed}, ${times} times: ${kind}\n${told}`)).toEqual([])
  expect(done).toBeGreaterThan(0)
})

test('nothing is written after the answer that ended a session or a key, at either node', async () => {
  const nodes = await twoNodes(await shop())
  for (const ending of ENDINGS)
    for (const _ of Array(3).keys()) expect([ending, await raceAnEnding(nodes, ending)]).toEqual([ending, null])
})

async function twoNodes({ api, node, serverSecret, serviceToken, sql }: Shop): Promise<Nodes> {
  const other = await node()
  return { urls: [api.url, other.url], serverSecret, serviceToken: await serviceToken(null), sql: oneAtATime(sql) }
}
