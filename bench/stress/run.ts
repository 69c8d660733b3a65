// npm run stress: the tests whose counts are small in the suite, with the full ones of strength.ts (kills and SIGTERMs under
// load, keys against their model, locks, bulk changes, imports), and then the storm on addresses. It fails when one of them
// does.

import { spawnSync } from 'node:child_process'

const TESTS = [
  'tests/process-load.test.ts',
  'tests/workers.test.ts',
  'src/keys/model.test.ts',
  'src/keys/spend-races.test.ts',
  'src/billing/defaults.test.ts',
  'tests/deadlocks.test.ts',
  'tests/deadlocks-keys.test.ts',
  'src/keys/bulk.test.ts',
  'src/keys/import.test.ts',
]
const STEPS = [
  ['node_modules/vitest/vitest.mjs', 'run', '--maxWorkers=1', ...TESTS],
  ['--import', 'tsx', 'bench/stress/address-storm.ts'],
]

for (const step of STEPS) {
  const { status } = spawnSync(process.execPath, step, { stdio: 'inherit', env: { ...process.env, STRESS: 'on' } })
  if (status !== 0) process.exit(status ?? 1)
}
