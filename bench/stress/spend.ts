// npm run stress:spend: keys that spend credits and limits, raced at two nodes (RACES, default 3,000, AT_ONCE of them at a
// time, each in a store of its own). After each the books must balance: tests/spend-races.ts says what that is. SEED=… runs
// the same races again. It fails when anything is wrong.

import fc from 'fast-check'
import { newRandom } from '../../tests/random.ts'
import { oneAtATime } from '../../tests/rights-tenant.ts'
import { raceSpending, type SpendRace, spendRaces } from '../../tests/spend-races.ts'
import { newServiceToken, newWorld, runOurs } from '../world.ts'

const RACES = Number(process.env.RACES ?? 3_000)
const AT_ONCE = Number(process.env.AT_ONCE ?? 4)
const SAID_EACH_MS = 10_000
const { seed } = newRandom()

const world = await newWorld()
const running = await Promise.all([runOurs(world), runOurs(world)])
const [first, second] = running
const nodes = {
  urls: [first.url, second.url] as [string, string],
  serverSecret: world.secret,
  serviceToken: await newServiceToken(world, null),
  sql: oneAtATime(world.sql),
}

const began = performance.now()
const races = fc.sample(spendRaces, { seed, numRuns: RACES })
const requestsOf = ({ rounds }: SpendRace) => rounds.flat().reduce((sum, { times }) => sum + (times ?? 1), 0)
let next = 0
let requests = 0
let wrong = 0
let saidAt = began
async function lane(): Promise<void> {
  while (next < races.length) {
    const n = next++
    const race = races[n] as SpendRace
    const faults = await raceSpending(nodes, race)
    requests += requestsOf(race)
    if (faults.length > 0) wrong += 1
    for (const fault of faults) console.error(`race ${n}: ${fault}\n${JSON.stringify(race)}`)
    if (performance.now() - saidAt > SAID_EACH_MS) {
      saidAt = performance.now()
      process.stderr.write(`${n} races, ${wrong} wrong, SEED=${seed}\n`)
    }
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, lane))
const seconds = Math.round((performance.now() - began) / 1000)
console.log(`${RACES} races, ${requests} requests, two nodes, ${seconds} s: ${wrong} wrong, SEED=${seed}`)
await Promise.all(running.map((node) => node.stop()))
await world.close()
process.exitCode = wrong > 0 ? 1 : 0
