// npm run stress:sigterm: tells the service to stop, again and again, while 16 clients send one request after the other,
// on connections that they keep and on a new one for each request. STOPS (default 50) of each kind. A reset is a request
// that was sent on a connection and got no answer.

import { newStoppingClient } from '../../tests/stopping-client.ts'
import { newMembers, newWorld, runOurs } from '../world.ts'

const STOPS = Number(process.env.STOPS ?? 50)
const CLIENTS = 16
const BODY = { name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] }

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, CLIENTS)
const rows: Record<string, Record<string, string | number>> = {}
let resets = 0
for (const connections of ['fresh', 'kept'] as const) {
  const totals = { stops: STOPS, answered: 0, 'answered after SIGTERM': 0, resets: 0, 'stops with a reset': 0 }
  const drainMs: number[] = []
  for (let stop = 0; stop < STOPS; stop++) {
    const ours = await runOurs(world)
    const path = `/v1/user/store/${storeId}/keys`
    const clients = tokens.map((token, i) =>
      newStoppingClient(ours.url, () => ({ kind: 'key', path, body: BODY, token }), {
        connections,
        pauses: connections === 'kept' && i % 4 === 3,
      }),
    )
    while (!clients.every((client) => client.answered() > 5 || client.failed()))
      await new Promise((resolve) => setTimeout(resolve, 10))
    for (const client of clients) client.told()
    const before = clients.reduce((sum, client) => sum + client.answered(), 0)
    const began = performance.now()
    await ours.stop()
    drainMs.push(performance.now() - began)
    const results = await Promise.all(clients.map((client) => client.done))
    const answered = results.reduce((sum, { answered }) => sum + answered.length, 0)
    const failed = results.flatMap(({ failed }) => failed)
    for (const failure of failed) console.error(`${connections}, stop ${stop + 1}: ${failure}`)
    const reset = failed.length + results.reduce((sum, { closingResets }) => sum + closingResets, 0)
    totals.answered += answered
    totals['answered after SIGTERM'] += answered - before
    totals.resets += reset
    totals['stops with a reset'] += reset > 0 ? 1 : 0
  }
  drainMs.sort((a, b) => a - b)
  const at = (part: number) => Math.round(drainMs[Math.floor((drainMs.length - 1) * part)] ?? 0)
  rows[connections === 'kept' ? 'connections kept' : 'a connection for each request'] = {
    ...totals,
    'stopped after p50 / max ms': `${at(0.5)} / ${at(1)}`,
  }
  resets += totals.resets
}
console.table(rows)
await world.close()
process.exitCode = resets > 0 ? 1 : 0
