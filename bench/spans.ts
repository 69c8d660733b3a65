// BASE=<folder> npm run bench:spans: what a change costs verification, in processor time, beside another checkout of the
// service in which `npm ci` was run, such as that of the commit before it. Both run on one database and are measured in turn,
// ROUNDS (default 10) times for SECONDS (default 5): a noisy minute hits both alike. Written for spans without an SDK.
// SDK=<file> loads one into this checkout's service, to see what it costs with one.

import { cpuMs, load, median, newKeys, newMembers, newServiceToken, newWorld, READY, runOurs } from './world.ts'

const SECONDS = Number(process.env.SECONDS ?? 5)
const ROUNDS = Number(process.env.ROUNDS ?? 10)
const WARM_SECONDS = 2
const { BASE, SDK } = process.env
if (!BASE) throw new Error('BASE must name the checkout to compare with')

const world = await newWorld()
const { storeId } = await newMembers(world, 1)
const service = await newServiceToken(world, storeId)
const keys = (await newKeys(world, storeId, 1_000)).map(({ key }) => key)
const base = await runOurs(world, {}, BASE)
const ours = await runOurs(world, SDK ? { NODE_OPTIONS: `--import ${SDK}` } : {})

const ask = (n: number) => ({
  method: 'POST' as const,
  path: '/v1/keys/verify',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${service}` },
  body: JSON.stringify({ key: keys[(n + 37 * Math.floor(n / READY)) % keys.length], permissions: ['READ'] }),
})

async function measure({ url, pid }: typeof ours): Promise<number> {
  await load(url, WARM_SECONDS, ask)
  const before = cpuMs(pid)
  const { perSecond, errors } = await load(url, SECONDS, ask)
  if (errors > 0) throw new Error(`${errors} requests failed`)
  return ((cpuMs(pid) - before) * 1000) / (perSecond * SECONDS)
}

const rounds: { base: number; ours: number }[] = []
for (let n = 0; n < ROUNDS; n++) {
  // Each goes first as often as the other.
  const first = n % 2 === 0
  const one = await measure(first ? base : ours)
  const other = await measure(first ? ours : base)
  const round = first ? { base: one, ours: other } : { base: other, ours: one }
  rounds.push(round)
  console.log(
    `round ${n + 1}: ${round.base.toFixed(1)} and ${round.ours.toFixed(1)} µs, ${(round.ours / round.base).toFixed(3)}`,
  )
}
const [before, now, ratio] = [
  median(rounds.map((round) => round.base)),
  median(rounds.map((round) => round.ours)),
  median(rounds.map((round) => round.ours / round.base)),
]
console.log(
  `medians of ${ROUNDS}: ${before.toFixed(1)} µs a verification in ${BASE}, ${now.toFixed(1)} µs here; of the ratios ${ratio.toFixed(3)}`,
)
await Promise.all([base.stop(), ours.stop()])
await world.close()
process.exit(0)
