// The claim of the in-process verifier, under schedules of faults in virtual time; and that the schedules are worth
// something: a machine that lacks any one of the rules, or a node that breaks an obligation, is found out.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeStream, isSilent, newMachine, onFrame, openStream } from '../../packages/client/src/verify/machine.ts'
import { answer, onAnswer } from '../../packages/client/src/verify/memory.ts'
import { SEED } from '../random.ts'
import type { MachineFunctions } from './client.ts'
import { breakExample } from './examples.ts'
import { load, MUTANTS } from './mutants.ts'
import { NODE_MUTATIONS, type NodeMutation } from './node.ts'
import { run, schedules } from './schedule.ts'

const real: MachineFunctions = { newMachine, openStream, closeStream, onFrame, isSilent, answer, onAnswer }
const RUNS = 1_500
/** Mutants live for at most so many schedules. These are the same in every run, so that a failure is no chance. */
const MUTANT_RUNS = 12_000

test('no answer from memory is later than 1.5 s after the commit that ended it', () => {
  let [answered, resumed] = [0, 0]
  fc.assert(
    fc.property(schedules, (schedule) => {
      const outcome = run(schedule, real)
      answered += outcome.answered
      resumed += outcome.resumed
      expect(outcome.breaches).toEqual([])
    }),
    { numRuns: RUNS },
  )
  // Nothing is proven by a client that only asks, or never resumes.
  expect(answered).toBeGreaterThan(50 * RUNS)
  expect(resumed).toBeGreaterThan(RUNS / 20)
})

test.each(MUTANTS.filter(({ isSubtle }) => !isSubtle))('without rule $rule, the bound is broken', async (mutant) => {
  expect(breaksWithin(MUTANT_RUNS, await load(mutant), null)).toBe(true)
})

test.each(NODE_MUTATIONS)('with a node where %s, the bound is broken', (mutation) => {
  expect(breaksWithin(MUTANT_RUNS, real, mutation)).toBe(true)
})

test('what schedules hardly ever meet is shown by examples', async () => {
  expect(breakExample(real)).toBe(null)
  for (const mutant of MUTANTS.filter(({ isSubtle }) => isSubtle))
    expect(breakExample(await load(mutant)), mutant.rule).not.toBe(null)
})

function breaksWithin(runs: number, functions: MachineFunctions, mutation: NodeMutation | null): boolean {
  const drawn = 250
  for (let n = 0; n < runs / drawn; n++)
    for (const schedule of fc.sample(schedules, { numRuns: drawn, seed: (SEED ?? 20_261) + n }))
      if (run(schedule, functions, mutation).breaches.length > 0) return true
  return false
}
