// Builds the service from its settings: database → migrations → server → listen, and takes it apart in reverse.
// main.ts runs it as a process; the tests run it in theirs.

import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { newCallerCache } from './auth/caller-cache.ts'
import { newGithubSignatureCheck } from './auth/github-signature.ts'
import { jwtCheckFrom } from './auth/jwt.ts'
import { KEYS_CHANNEL, newKeyCache } from './auth/key-cache.ts'
import type { Config } from './config.ts'
import { MINUTE, SECOND } from './core/clock.ts'
import { newResolve, type Resolve, resolveLocally } from './core/dns.ts'
import { newFailureReporter, type ReportFailure } from './core/failures.ts'
import { isKeyToken } from './crypto/tokens.ts'
import { connect, type Database } from './db/db.ts'
import { listen } from './db/listen.ts'
import { migrate } from './db/migrate.ts'
import { EVENTS_CHANNEL, newEventNotifier } from './events/log.ts'
import { sealAfterRestore, startSealing } from './events/seal.ts'
import { newEventFeed } from './events/stream.ts'
import { newEventStreams } from './http/event-stream.ts'
import { newLongAnswers } from './http/json-stream.ts'
import { newMetrics } from './http/metrics.ts'
import { buildPages } from './http/pages.ts'
import { newLimits } from './http/pipeline.ts'
import { buildServer } from './http/server.ts'
import { purgeResponses } from './idempotency/idempotency.ts'
import { purgeFailures, purgeSessions } from './identity/accounts.ts'
import { newInstance } from './instance.ts'
import { sendExpiryNotices } from './keys/expiry-notices.ts'
import { newUsage, rollUpUsage } from './keys/usage.ts'
import { newVerifier } from './keys/verify.ts'
import { newLoadShedder } from './limits/load-shedding.ts'
import { routes } from './routes.ts'
import { openStorage, type Storage } from './storage.ts'
import { purgeStores } from './stores/stores.ts'
import { newDispatcher } from './webhooks/dispatch.ts'
import { newOutlet } from './webhooks/outlet.ts'
import { sweepDeliveries } from './webhooks/queue.ts'

export type Service = {
  url: string
  db: Database
  /** Quiet connections are given so long to bring a request that is on its way. */
  close(patienceMs?: number): Promise<void>
}

type Say = (line: string) => void

export async function startService(
  config: Config,
  log: Logger,
  say: Say,
  resolve: Resolve = config.WEBHOOK_ALLOW_PRIVATE === 'on' ? resolveLocally : newResolve(),
): Promise<Service> {
  const storage = await openStorage(config, say)
  try {
    await migrate(storage.connection, say)
    await adoptRestoredEvents(storage, say)
    return await serve(config, storage, log, resolve)
  } catch (error) {
    await storage.close()
    throw error
  }
}

/** Before anybody writes here. */
async function adoptRestoredEvents({ connection }: Storage, say: Say): Promise<void> {
  const db = connect(connection)
  try {
    await sealAfterRestore(db, say)
  } finally {
    await db.close()
  }
}

async function serve(config: Config, storage: Storage, log: Logger, resolve: Resolve): Promise<Service> {
  const db = connect(storage.connection)
  const instance = newInstance(config, storage.keyring, resolve)
  const keys = newKeyCache(
    db,
    instance.keyring,
    (token) => isKeyToken(instance.keyPrefix, token),
    () => notifications.heardUpTo(),
  )
  const eventNotifier = newEventNotifier()
  const notifications = listen(
    storage.connection,
    { [KEYS_CHANNEL]: keys.invalidate, [EVENTS_CHANNEL]: eventNotifier.publish },
    () => {
      keys.invalidate()
      eventNotifier.publish(null)
    },
  )
  const feed = newEventFeed(db, eventNotifier)
  const usage = newUsage(db, instance.keyring)
  const loadShedder = newLoadShedder(db)
  const streams = newEventStreams()
  const metrics = newMetrics({
    inFlight: loadShedder.inFlight,
    waiting: db.waiting,
    streams: streams.open,
    sealed: () => sealer.sealed(),
  })
  const failed = newFailureReporter(log, metrics.failed)
  const sealer = startSealing(db, failed)
  const outlet = newOutlet(instance.webhooks.resolve, instance.webhooks.allowPrivate)
  const dispatcher = newDispatcher(db, instance, outlet, metrics.answered, metrics.sent, failed)
  let draining = false
  const app = await buildServer({
    pipeline: {
      db,
      instance,
      jwt: await jwtCheckFrom(config),
      caches: { callers: newCallerCache(), keys },
      corsOrigins: config.CORS_ORIGINS,
      limits: newLimits(config.RATE_LIMIT),
      verifier: newVerifier(db, instance, keys, usage, metrics.verified),
      feed,
      longAnswers: newLongAnswers(),
      changed: dispatcher.wake,
      signatures: { github: newGithubSignatureCheck(config.GITHUB_KEYS_URL) },
    },
    routes,
    draining: () => draining,
    pages: buildPages({ routes, db, metrics, draining: () => draining }),
    loadShedder,
    streams,
    metrics,
    log,
    trustProxy: config.TRUST_PROXY,
  })
  // What is under way when we stop is broken off, and that is no failure.
  const maintenance = startMaintenance(db, (work, error) => {
    if (!draining) failed(work, error)
  })

  const close = async (patienceMs = PATIENCE_MS) => {
    draining = true
    streams.close()
    const dispatched = dispatcher.close(patienceMs * 3)
    await drain(app.server, patienceMs)
    await app.close()
    clearInterval(maintenance)
    loadShedder.close()
    feed.close()
    await sealer.close()
    await usage.close()
    await dispatched
    await notifications.close()
    await db.close()
    await storage.close()
  }
  try {
    const url = await app.listen({ host: config.HOST, port: config.PORT })
    return { url, db, close: once(close) }
  } catch (error) {
    await close(0)
    throw error
  }
}

const PATIENCE_MS = SECOND
const SWEEP_MS = 100
const MAINTENANCE_MS = MINUTE

/**
 * Stops listening, but lets connections that are open bring what they have sent: a request that was on its way when we
 * were told to stop is still answered. Connections that stay quiet are closed after a second.
 */
async function drain(server: net.Server & { closeIdleConnections(): void }, patienceMs: number): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  net.Server.prototype.close.call(server)
  await Promise.race([closed, sleep(patienceMs)])
  server.closeIdleConnections()
  // Whoever is answered only now leaves a quiet connection behind, which would be waited for.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
  closed.then(() => clearInterval(sweep))
}

function startMaintenance(db: Database, failed: ReportFailure): NodeJS.Timeout {
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
    // What a chore does not get done now, the next one does.
    for (const task of tasks) task(db).catch((error) => failed(task.name, error))
  }, MAINTENANCE_MS).unref()
}

function once(work: (patienceMs?: number) => Promise<void>): Service['close'] {
  let done: Promise<void> | undefined
  return (patienceMs) => {
    done ??= work(patienceMs)
    return done
  }
}
