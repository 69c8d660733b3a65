// The rules of rights imply the invariants, on the model alone: `npm run stress:rights` runs a million sequences. And each
// rule is needed: without it a story goes wrong that it would have stopped. Over HTTP: rights.test.ts.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RULES } from './rights-rules.ts'
import { runOnModel, runOperations, sequences } from './rights-sequences.ts'
import { STORIES } from './rights-stories.ts'

const LIMIT_MS = 2_000

test('whatever is asked, in whatever order, the rules keep the invariants', () => {
  fc.assert(
    fc.property(sequences(24), (sequence) => {
      expect(runOnModel(sequence)).toBe(null)
    }),
    { numRuns: 100_000, interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: false },
  )
})

test.each(RULES)('without the rule "%s" an invariant fails', (rule) => {
  const { operations, breaks } = STORIES[rule]
  const run = (off?: typeof rule) => runOperations(operations, (_, operation) => operation, off)
  expect([run(), run(rule)?.invariant]).toEqual([null, breaks])
})
