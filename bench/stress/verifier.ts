// npm run stress:verifier: the claim of the in-process verifier under SCHEDULES (default 1,000,000) schedules of faults in
// virtual time. The suite runs 1,500 (tests/in-process/bound.test.ts). SEED=… begins with that one.

import fc from 'fast-check'
import { closeStream, isSilent, newMachine, onFrame, openStream } from '../../packages/client/src/verify/machine.ts'
import { answer, onAnswer } from '../../packages/client/src/verify/memory.ts'
import { run, schedules } from '../../tests/in-process/schedule.ts'

const SCHEDULES = Number(process.env.SCHEDULES ?? 1_000_000)
const functions = { newMachine, openStream, closeStream, onFrame, isSilent, answer, onAnswer }
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const BATCH = 1_000
const totals = { schedules: 0, answered: 0, streams: 0, resumed: 0 }
console.log(`seed ${seed}`)
for (let n = 0; totals.schedules < SCHEDULES; n++)
  for (const schedule of fc.sample(schedules, { numRuns: BATCH, seed: seed + n })) {
    const { breaches, answered, streams, resumed } = run(schedule, functions)
    totals.schedules += 1
    totals.answered += answered
    totals.streams += streams
    totals.resumed += resumed
    if (breaches.length > 0) {
      console.log(JSON.stringify({ seed: seed + n, breaches, schedule }))
      process.exit(1)
    }
    if (totals.schedules % 50_000 === 0) console.log(JSON.stringify(totals))
  }
console.log(`no breach: ${JSON.stringify(totals)}, ${Math.round(process.cpuUsage().user / 1e6)} s of CPU`)
