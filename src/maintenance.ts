// Maintenance: what each node does once a minute. It deletes what has ended (stored answers, failed sign-ins, sessions, links,
// deliveries, deleted stores, holds), forgets erased owners of keys, rolls up old counts of use, and sends notices of keys that
// are about to expire.

import { purgeUserTokens } from './auth/user-tokens.ts'
import { endHolds } from './billing/holds.ts'
import { MINUTE, SECOND } from './core/clock.ts'
import type { ReportFailure } from './core/failures.ts'
import type { Database } from './db/db.ts'
import { newResponsePurge, newSecretPurge } from './idempotency/purge.ts'
import { purgeChallenges } from './identity/challenge.ts'
import { eraseOwnersLeft } from './identity/erase-owners.ts'
import { purgeSessions } from './identity/sessions.ts'
import { purgeFailures } from './identity/sign-in.ts'
import type { Instance } from './instance.ts'
import { purgeBulkChanges } from './keys/bulk-progress.ts'
import { forgetErasedOwners } from './keys/erased-owners.ts'
import { newExpiryNotices } from './keys/expiry-notices.ts'
import { rollUpUsage } from './keys/usage-retention.ts'
import { purgeStores } from './stores/purge.ts'
import { sweepDeliveries } from './webhooks/deliveries.ts'

const MAINTENANCE_MS = MINUTE

type Task = (db: Database) => Promise<number>

/** The first one has a promise to keep, two minutes after the hour of a secret, whatever backlog the others have. */
const newTasks = (instance: Instance | null): [Task, ...Task[]] => [
  newSecretPurge(),
  endHolds,
  eraseOwnersLeft,
  forgetErasedOwners,
  newResponsePurge(),
  purgeFailures,
  purgeSessions,
  purgeUserTokens,
  purgeChallenges,
  purgeStores,
  purgeBulkChanges,
  rollUpUsage,
  newExpiryNotices(instance),
  sweepDeliveries,
]

/** The names of all tasks, under which they are counted. */
export const MAINTENANCE_TASKS = newTasks(null).map(({ name }) => name)

type Hears = {
  done(task: string, seconds: number, rows: number): void
  failed: ReportFailure
}

type Maintenance = {
  /** An owner was erased: their ended keys do not wait for the next run. */
  ownerErased(): void
  stop(): void
}

/** The next run begins a minute after the last began, or when it has ended. */
export function startMaintenance(db: Database, instance: Instance, hears: Hears): Maintenance {
  const tasks = newTasks(instance)
  let timer: NodeJS.Timeout
  let isStopped = false
  const run = async () => {
    const began = performance.now()
    // What a task leaves undone, its next run does.
    for (const task of inTurn(tasks)) {
      if (isStopped) return
      await runTask(db, task, hears)
    }
    schedule(Math.max(0, MAINTENANCE_MS - (performance.now() - began)))
  }
  const schedule = (ms: number) => {
    if (!isStopped) timer = setTimeout(run, ms).unref()
  }
  schedule(MAINTENANCE_MS)
  let forgetting: Promise<void> = Promise.resolve()
  return {
    ownerErased() {
      forgetting = forgetting.then(() => (isStopped ? undefined : runTask(db, forgetErasedOwners, hears)))
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** One after the other, but the first again whenever a minute has gone by. */
export function* inTurn<T>([first, ...others]: [T, ...T[]]): Generator<T> {
  let firstBegan = Number.NEGATIVE_INFINITY
  for (const task of others) {
    if (performance.now() - firstBegan >= MAINTENANCE_MS) {
      firstBegan = performance.now()
      yield first
    }
    yield task
  }
}

async function runTask(db: Database, task: Task, { done, failed }: Hears): Promise<void> {
  const began = performance.now()
  try {
    const rows = await task(db)
    done(task.name, (performance.now() - began) / SECOND, rows)
  } catch (error) {
    failed(task.name, error)
  }
}
