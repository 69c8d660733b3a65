// Maintenance: what each node does once a minute. It deletes what has ended (stored answers, failed sign-ins, sessions, links,
// deliveries, deleted stores, holds), rolls up old counts of use, and sends notices of keys that are about to expire.

import { purgeUserTokens } from './auth/user-tokens.ts'
import { endHolds } from './billing/holds.ts'
import { MINUTE } from './core/clock.ts'
import type { ReportFailure } from './core/failures.ts'
import type { Database } from './db/db.ts'
import { newResponsePurge } from './idempotency/purge.ts'
import { purgeChallenges } from './identity/challenge.ts'
import { purgeSessions } from './identity/sessions.ts'
import { purgeFailures } from './identity/sign-in.ts'
import type { Instance } from './instance.ts'
import { purgeBulkChanges } from './keys/bulk-progress.ts'
import { newExpiryNotices } from './keys/expiry-notices.ts'
import { rollUpUsage } from './keys/usage-retention.ts'
import { purgeStores } from './stores/purge.ts'
import { sweepDeliveries } from './webhooks/deliveries.ts'

const MAINTENANCE_MS = MINUTE

const newTasks = (instance: Instance | null) => [
  endHolds,
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

/** The names of all tasks, as failures of them are counted under. */
export const MAINTENANCE_TASKS = newTasks(null).map(({ name }) => name)

/** One task after the other; the next run begins a minute after the last began, or when it has ended. */
export function startMaintenance(db: Database, instance: Instance, failed: ReportFailure): { stop(): void } {
  const tasks = newTasks(instance)
  let timer: NodeJS.Timeout
  let isStopped = false
  const run = async () => {
    const began = performance.now()
    // What a task leaves undone, its next run does.
    for (const task of tasks) if (!isStopped) await task(db).catch((error) => failed(task.name, error))
    if (!isStopped) schedule(Math.max(0, MAINTENANCE_MS - (performance.now() - began)))
  }
  const schedule = (ms: number) => {
    timer = setTimeout(run, ms).unref()
  }
  schedule(MAINTENANCE_MS)
  return {
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
