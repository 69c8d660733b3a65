// npm run stress:rights: random sequences of everything that can be asked of a store, on the model of rights alone (MODEL,
// default 1,000,000) and over HTTP at two nodes (HTTP, default 20,000; HTTP=0 leaves them out), each in a store of its own;
// then races of requests with what ends their credential (RACES of each kind, default 100). Every rule is also switched off,
// to see that the invariants notice. SEED=… and FROM=… take a run up again. It fails when anything is wrong.

import { newRandom } from '../../tests/random.ts'
import { runOverHttp } from '../../tests/rights-http.ts'
import { ENDINGS, raceAnEnding } from '../../tests/rights-races.ts'
import { RULES } from '../../tests/rights-rules.ts'
import { type Fault, type Finding, search } from '../../tests/rights-search.ts'
import { runOnModel, type Sequence } from '../../tests/rights-sequences.ts'
import { oneAtATime } from '../../tests/rights-tenant.ts'
import { newServiceToken, newWorld, runOurs } from '../world.ts'

const number = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise)
const MODEL = number('MODEL', 1_000_000)
const HTTP = number('HTTP', 20_000)
const RACES = number('RACES', 100)
const FROM = number('FROM', 0)
const AT_ONCE = number('AT_ONCE', 16)
const { seed } = newRandom()

const began = performance.now()
const seconds = () => Math.round((performance.now() - began) / 1000)
let saidAt = 0
/** A line every ten seconds. */
function progress(what: string, done: number): boolean {
  if (seconds() - saidAt >= 10) {
    saidAt = seconds()
    process.stderr.write(`${String(saidAt).padStart(5)} s  ${what}: ${done}, SEED=${seed} FROM=${FROM}\n`)
  }
  return true
}

const faults: string[] = []
const onFinding = ({ kind, told, n }: Finding) => console.log(`FROM=${n}: ${kind}\n${told}\n`)
function report(what: string, done: number, findings: Finding[]): void {
  console.log(`${done} ${what}, ${findings.length} kinds of faults, ${seconds()} s, SEED=${seed} FROM=${FROM}`)
  for (const { kind, times } of findings) faults.push(`${what}, ${times} times: ${kind}`)
}

// ---- on the model ---------------------------------------------------------------------------------------------------

const onModel =
  (off?: (typeof RULES)[number]) =>
  (sequence: Sequence): Fault | null => {
    const violation = runOnModel(sequence, off)
    return violation && { kind: violation.invariant, told: violation.told.join('\n') }
  }

if (MODEL > 0) {
  const { done, findings } = await search({
    seed,
    from: FROM,
    to: FROM + MODEL,
    maxLength: 24,
    atOnce: 1,
    run: onModel(),
    goesOn: (n) => progress('on the model', n),
    onFinding,
  })
  report('sequences on the model', done, findings)
  for (const rule of RULES) {
    let failed = false
    const run = (sequence: Sequence) => {
      failed ||= onModel(rule)(sequence) !== null
      return null
    }
    const { done } = await search({
      seed,
      from: FROM,
      to: FROM + MODEL,
      maxLength: 24,
      atOnce: 1,
      run,
      goesOn: (n) => progress(`without "${rule}"`, n) && !failed,
    })
    console.log(`without "${rule}" an invariant fails ${failed ? `after ${done} sequences` : 'never'}`)
    if (!failed) faults.push(`no invariant needs the rule "${rule}"`)
  }
}

// ---- over HTTP ------------------------------------------------------------------------------------------------------

if (HTTP > 0 || RACES > 0) {
  const world = await newWorld()
  const running = await Promise.all([runOurs(world), runOurs(world)])
  const [first, second] = running
  const nodes = {
    urls: [first.url, second.url] as [string, string],
    serverSecret: world.secret,
    serviceToken: await newServiceToken(world, null),
    sql: oneAtATime(world.sql),
  }
  const { done, findings } = await search({
    seed,
    from: FROM,
    to: FROM + HTTP,
    maxLength: 16,
    atOnce: AT_ONCE,
    run: (sequence) => runOverHttp(nodes, sequence),
    goesOn: (n) => progress('over HTTP', n),
    onFinding,
  })
  report('sequences over HTTP', done, findings)
  for (const ending of ENDINGS) {
    let late = 0
    for (let n = 0; n < RACES; n++) {
      progress(`races, ${ending}`, n)
      if ((await raceAnEnding(nodes, ending)) !== null) late += 1
    }
    console.log(`${RACES} races, ${ending}: ${late} with something written after the answer`)
    if (late > 0) faults.push(`${late} races, ${ending}: something was written after the answer`)
  }
  await Promise.all(running.map((node) => node.stop()))
  await world.close()
}

for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
