// Four kinds of tests, told apart by what they need. `unit` needs nothing and takes seconds (npm run test:quick); `api`
// opens shops in a PostgreSQL that is started once; `process` starts processes and servers of its own;
// `browser` opens the dashboard in Chromium. `npm test` runs the first, the second and the last as one project, since
// each project has workers, and transforms and loads the code, for itself.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { skippedInBrowser } from './packages/dashboard/tests/skipped.ts'
import { useMemoryDisk } from './tests/memory-disk.ts'

useMemoryDisk()

const PROCESS = [
  'tests/process-start.test.ts',
  'tests/process-load.test.ts',
  'tests/embedded.test.ts',
  'tests/workers.test.ts',
  'tests/upgrade.test.ts',
  'tests/scan.test.ts',
  'tests/client-package.test.ts',
]
const files = ['src', 'tests', 'packages']
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
  .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
const textOf = (file: string) => readFileSync(file, 'utf8')
const isBrowser = (file: string) => file.startsWith('packages/dashboard/tests/')
const needsDatabase = (file: string) => /\/shop\.ts'/.test(textOf(file))
/**
 * Those that move the timers of their process: no service may run beside them. A test that needs the database closes the one
 * that its worker shares first (`closeSharedService`).
 */
const movesTimers = (file: string) =>
  /stopClock|useFakeTimers\((?!\{ toFake: \['Date'\])/.test(textOf(file)) && !needsDatabase(file)
const ALONE = [...PROCESS, ...files.filter(movesTimers)]
const others = files.filter((file) => !ALONE.includes(file) && !isBrowser(file))

/** Begun first, since they take longest: whatever comes last is short, and no core is left idle at the end. */
const LONGEST = [
  ...PROCESS,
  'packages/dashboard/tests/everyone.test.ts',
  'packages/dashboard/tests/signed-out.test.ts',
  'packages/dashboard/tests/secret.test.ts',
  'packages/dashboard/tests/ways-in.test.ts',
  'packages/dashboard/tests/other-user.test.ts',
  'packages/dashboard/tests/addresses.test.ts',
  'packages/dashboard/tests/account.test.ts',
  'packages/dashboard/tests/store.test.ts',
  'packages/dashboard/tests/customers.test.ts',
  'src/events/stream.test.ts',
  'src/events/seal.test.ts',
  'src/webhooks/webhooks.test.ts',
  'tests/neighbours.test.ts',
  'tests/routes.test.ts',
  'tests/build.test.ts',
  'tests/tutorials.test.ts',
  'tests/query-plans.test.ts',
  'tests/docs.test.ts',
  'tests/rights.test.ts',
  'tests/secrets-nowhere.test.ts',
  'src/http/admission.test.ts',
  'src/cli/backup.test.ts',
  'src/cli/secret.test.ts',
  'src/db/failover.test.ts',
  'src/identity/erase.test.ts',
  'src/keys/verify.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.indexOf(relative(import.meta.dirname, moduleId))
      return at === -1 ? LONGEST.length : at
    }
    return (await super.sort(specs)).sort((a, b) => place(a) - place(b))
  }
}

/** They share their workers' processes: what a test changes there it puts back. */
const shared = (name: string, include: string[], globalSetup: string[]) => ({
  extends: true as const,
  test: { name, include, globalSetup, isolate: false },
})
const DATA = ['tests/setup-data.ts']
const DATABASE = [...DATA, 'tests/setup.ts']
const DATABASE_AND_DASHBOARD = [...DATABASE, 'packages/dashboard/tests/setup.ts']
const processes = { extends: true as const, test: { name: 'process', include: ALONE, globalSetup: DATA } }
const together = [shared('together', [...others, ...files.filter(isBrowser)], DATABASE_AND_DASHBOARD), processes]
const apart = [
  shared(
    'unit',
    others.filter((file) => !needsDatabase(file)),
    [],
  ),
  shared('api', others.filter(needsDatabase), DATABASE),
  shared('browser', files.filter(isBrowser), DATABASE_AND_DASHBOARD),
  processes,
]

export default defineConfig(({ mode }) => ({
  // The packages of this repository are tested as they are written, not as they were built last.
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    // More than there are cores: many tests wait for a time to pass.
    maxWorkers: 4,
    reporters: ['default', skippedInBrowser],
    sequence: { sequencer: LongestFirst },
    projects: mode === 'together' ? together : apart,
    setupFiles: ['tests/seed.ts'],
    // A wait that has to come true may take as long as the machine is busy: how long is never what is tested.
    testTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 120_000,
  },
}))
