// npm run stress:overload: five and twenty times as many requests as the service can sustain, on 4,000 connections that are
// open and on a new connection for each, with 100 verifications a second beside them. The generator has a process of its
// own and yields to the service, with which it shares the machine: what it could send is in the table. SECONDS (default 8)
// for each row, FACTORS (default 5,20).

import { newKeys, newMembers, newServiceToken, newWorld, runOurs } from '../world.ts'
import { type Overload, overload, postRequest, sustainedRate, type Target } from './overload-run.ts'

const SECONDS = Number(process.env.SECONDS ?? 8)
const FACTORS = (process.env.FACTORS ?? '5,20').split(',').map(Number)
const KINDS = (process.env.KINDS ?? 'warm,fresh').split(',')
const SESSIONS = 100
const WARM = { connections: 4_000, fresh: false, name: '4,000 connections' }
const FRESH = { connections: 6_000, fresh: true, name: 'fresh connections' }
const NEW_KEY = JSON.stringify({ name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'] })

const world = await newWorld()
const { storeId, tokens } = await newMembers(world, SESSIONS)
const [key] = await newKeys(world, storeId, 1)
const service = await newServiceToken(world, storeId)
const ours = await runOurs(world)
const { url, pid } = ours

function target(fresh: boolean): Target {
  return {
    url,
    pid,
    creates: tokens.map((token) => postRequest(url, `/v1/user/store/${storeId}/keys`, token, NEW_KEY, fresh)),
    verify: postRequest(url, '/v1/keys/verify', service, JSON.stringify({ key: key?.key })),
  }
}

const rows: Record<string, Record<string, string | number>> = {}
await sustainedRate(target(false), 3, false) // code and caches are warm
for (const { connections, fresh, name } of [WARM, FRESH].filter((kind) =>
  KINDS.includes(kind.fresh ? 'fresh' : 'warm'),
))
  for (const factor of FACTORS) {
    const sustained = await sustainedRate(target(fresh), 4, fresh)
    const perSecond = factor * sustained
    const result = await overload(target(fresh), { perSecond, seconds: SECONDS, connections, fresh, sustained })
    rows[`${factor}x, ${name}`] = rowOf(result, sustained)
    console.error(`${factor}x, ${name}`, JSON.stringify(result))
  }
console.table(transpose(rows))
await ours.stop()
await world.close()

function rowOf(result: Overload, sustained: number): Record<string, string | number> {
  const { accepted, verify, refused, late } = result
  return {
    'sustained /s': Math.round(sustained),
    'asked /s': Math.round(result.askedPerSecond),
    'sent /s': Math.round(result.sentPerSecond),
    'generator late p50 / p99 ms': `${late.p50} / ${late.p99}`,
    'goodput /s': Math.round(result.goodput),
    'goodput of sustained': Math.round((100 * result.goodput) / sustained) / 100,
    'accepted p50 / p99 / max ms': `${accepted.p50} / ${accepted.p99} / ${accepted.max}`,
    'verify p50 / p99 / max ms': `${verify.p50} / ${verify.p99} / ${verify.max}`,
    'verify failed': verify.failed,
    'refused /s': Math.round(result.refusedPerSecond),
    'refused p50 / p99 / max ms': `${refused.p50} / ${refused.p99} / ${refused.max}`,
    'refused without Retry-After': result.withoutRetryAfter,
    'resets; unanswered': `${result.resets}; ${result.unanswered}`,
    'other statuses': JSON.stringify(result.otherStatuses),
    'RSS MB': result.rssMb,
    'recovered after ms': result.recoveredMs ?? 'not',
  }
}

function transpose(rows: Record<string, Record<string, string | number>>) {
  const names = Object.keys(Object.values(rows)[0] ?? {})
  return Object.fromEntries(
    names.map((name) => [name, Object.fromEntries(Object.entries(rows).map(([row, cells]) => [row, cells[name]]))]),
  )
}
