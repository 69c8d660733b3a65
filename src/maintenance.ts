// Maintenance: what each node does once a minute. It deletes what has ended (stored answers, failed sign-ins, sessions,
// deliveries, deleted stores), rolls up old counts of use, and sends notices of keys that are about to expire.

import { MINUTE } from './core/clock.ts'
import type { ReportFailure } from './core/failures.ts'
import type { Database } from './db/db.ts'
import { purgeResponses } from './idempotency/idempotency.ts'
import { purgeSessions } from './identity/sessions.ts'
import { purgeFailures } from './identity/sign-in.ts'
import { sendExpiryNotices } from './keys/expiry-notices.ts'
import { rollUpUsage } from './keys/usage.ts'
import { purgeStores } from './stores/stores.ts'
import { sweepDeliveries } from './webhooks/deliveries.ts'

const MAINTENANCE_MS = MINUTE

export function startMaintenance(db: Database, failed: ReportFailure): NodeJS.Timeout {
  const tasks = [
    purgeResponses,
    purgeFailures,
    purgeSessions,
    purgeStores,
    rollUpUsage,
    sendExpiryNotices,
    sweepDeliveries,
  ]
  return setInterval(() => {
    // What a task leaves undone, its next run does.
    for (const task of tasks) task(db).catch((error) => failed(task.name, error))
  }, MAINTENANCE_MS).unref()
}
