// What runs without a request: sealing, webhooks, mail and maintenance.

import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { newFailureReporter } from './core/failures.ts'
import type { Database } from './db/db.ts'
import { startSealing } from './events/seal.ts'
import type { Metrics } from './http/metrics.ts'
import type { Instance } from './instance.ts'
import { type MailerTimings, startMail } from './mail/mailer.ts'
import { startMaintenance } from './maintenance.ts'
import { type DispatcherTimings, newDispatcher } from './webhooks/dispatcher.ts'
import { newSender } from './webhooks/sender.ts'

export type BackgroundTimings = {
  sealPauseMs: number
  dispatcher: Partial<DispatcherTimings>
  mailer: Partial<MailerTimings>
}

export type Background = ReturnType<typeof startBackground>

export function startBackground(
  config: Config,
  { db, instance, metrics }: { db: Database; instance: Instance; metrics: Metrics },
  log: Logger,
  timings: Partial<BackgroundTimings>,
  draining: () => boolean,
) {
  const reportFailure = newFailureReporter(log, metrics.failed)
  // An object of its own, so that the queries of requests alone can be counted (tests/query-count.ts).
  const ownDb: Database = { ...db }
  const sealer = startSealing(ownDb, reportFailure, timings.sealPauseMs)
  const sender = newSender(instance.webhooks.resolve, instance.webhooks.allowPrivate)
  const dispatcher = newDispatcher(
    ownDb,
    instance,
    sender,
    metrics.answered,
    metrics.webhookAttempt,
    reportFailure,
    timings.dispatcher,
  )
  // A task that is interrupted by the shutdown has not failed.
  const maintenance = startMaintenance(db, instance, {
    done: metrics.chore,
    failed: (work, error) => {
      if (!draining()) reportFailure(work, error)
    },
  })
  return { sealer, dispatcher, mailer: startMail(config, ownDb, instance, reportFailure, timings.mailer), maintenance }
}
