// Builds the service from its settings: database → migrations → server → listen, and takes it apart in reverse.
// main.ts runs it as a process; the tests run it in theirs.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { newAccountLookup } from './auth/account.ts'
import { newCallerCache } from './auth/caller-cache.ts'
import { newGithubSignatureCheck } from './auth/github-signature.ts'
import { jwtCheckFrom } from './auth/jwt.ts'
import { newKeyCache } from './auth/key-cache.ts'
import { newOidcClient } from './auth/oidc.ts'
import { type Background, type BackgroundTimings, startBackground } from './background.ts'
import { type Config, connectionsOfWorker } from './config.ts'
import { SECOND } from './core/clock.ts'
import { newResolve, type Resolve, resolveLocally } from './core/dns.ts'
import { keyFormOf } from './crypto/tokens.ts'
import type { Database } from './db/db.ts'
import type { Say } from './db/embedded/embedded.ts'
import { listen } from './db/listen.ts'
import { migrate } from './db/migrate.ts'
import { warnOfOldServer } from './db/minor-version.ts'
import { connect } from './db/pool.ts'
import { EVENTS_CHANNEL, newEventNotifier } from './events/log.ts'
import type { FeedTimings } from './events/schema.ts'
import { newEventFeed } from './events/stream.ts'
import { newConnectionSlots } from './http/connection-slots.ts'
import type { Pipeline } from './http/context.ts'
import { CHANGE_SEATS, newEventStreams } from './http/event-stream.ts'
import { invalidate } from './http/execute.ts'
import { newLongAnswers } from './http/json-stream.ts'
import { newLongWork } from './http/long-work.ts'
import { METRICS_TYPE, type Metrics, newMetrics } from './http/metrics.ts'
import { newMetricsServer } from './http/pages/metrics.ts'
import { buildPages } from './http/pages/pages.ts'
import { newParseTurns } from './http/parse-turns.ts'
import { newLargeReads } from './http/read-slots.ts'
import { newRequestSpans } from './http/request-spans.ts'
import { buildServer } from './http/server.ts'
import { closeConnections, stopListening } from './http/server-shutdown.ts'
import { type Instance, newInstance } from './instance.ts'
import { ERASED_OWNERS_CHANNEL } from './keys/erased-owners.ts'
import { CHANGES_CHANNEL, newKeyChanges } from './keys/in-process/changes.ts'
import { newUsageReports } from './keys/in-process/reports.ts'
import { newUsage } from './keys/usage.ts'
import { newVerifier } from './keys/verify.ts'
import { MAX_IDENTIFYING, newLoadShedder } from './limits/load-shedding.ts'
import { newTenantShares } from './limits/tenant-shares.ts'
import { newRateLimits, newServiceRateLimit } from './limits/token-bucket.ts'
import { measurable } from './measurable.ts'
import { prepareDatabase } from './prepare-database.ts'
import { routes } from './routes.ts'
import { openStorage, type Storage } from './storage.ts'

export type Service = {
  url: string
  db: Database
  /** Drops the caches of callers and keys. For tests that write to the database behind the service's back. */
  dropCaches(): void
  /** Idle connections get this long to deliver a request that is already on its way; with 0 it does not wait for new ones. */
  close(patienceMs?: number): Promise<void>
  /** Closes it as a worker whose place another has taken: the machine stays ready. */
  retire(): Promise<void>
  /** For the lead of a cluster: begins the work that runs without a request. */
  startBackground(): void
  /** For the lead of a cluster: another worker has written what is to be sent. */
  wake(): void
  measure: Metrics['measure']
}

/** The cluster that the service is a worker of. */
export type ClusterLink = {
  /** Has the lead look for what is to be sent. */
  wakeLead(): void
  /** The metrics of all workers. */
  readMetrics(): Promise<string>
}

/** How the service stands in its process: alone, or as a worker. */
type Place = { openStorage(): Promise<Storage>; cluster: ClusterLink | null }

/** How long the parts wait. Arguments and no settings: shorter ones are for tests. */
export type Timings = BackgroundTimings & {
  usageFlushMs: number
  slowReaderMs: number
  feed: Partial<FeedTimings>
  commitBeforeFlush: boolean
}

export async function startService(
  config: Config,
  log: Logger,
  say: Say,
  resolve: Resolve = config.WEBHOOK_ALLOW_PRIVATE === 'on' ? resolveLocally : newResolve(),
  timings: Partial<Timings> = {},
  place: Place = { openStorage: () => openStorage(config, say), cluster: null },
): Promise<Service> {
  const storage = await place.openStorage()
  try {
    await migrate(storage.connection, say)
    if (!place.cluster) await warnOfOldServer(storage.connection, say)
    await prepareDatabase(storage, say, timings)
    return await serve(config, storage, log, resolve, timings, place.cluster)
  } catch (error) {
    await storage.close()
    throw error
  }
}

async function serve(
  config: Config,
  storage: Storage,
  log: Logger,
  resolve: Resolve,
  timings: Partial<Timings>,
  cluster: ClusterLink | null,
): Promise<Service> {
  const state: State = { draining: false, isReplaced: false, background: null }
  const parts = newParts(config, storage, resolve, timings, state)
  const { db, metrics, caches } = parts
  const wake = () => {
    state.background?.dispatcher.wake()
    state.background?.mailer?.wake()
  }
  const beginBackground = () => {
    if (!state.draining) state.background ??= startBackground(config, parts, log, timings, () => state.draining)
    wake()
  }
  if (!cluster) beginBackground()
  const onChange = () => (state.background || !cluster ? wake() : cluster.wakeLead())
  const pipeline = await newPipeline(config, parts, log, state, onChange)
  const access = { port: config.METRICS_PORT, token: config.METRICS_TOKEN }
  const isStopping = () => state.draining && !state.isReplaced
  const shown = cluster ? { read: async () => ({ type: METRICS_TYPE, text: await cluster.readMetrics() }) } : metrics
  const pages = buildPages(routes, db, shown, access, isStopping)
  // The metrics of a cluster are its primary's to tell.
  const metricsServer = cluster ? null : newMetricsServer(metrics, access, config.HOST)
  const server = await buildServer(pipeline, routes, pages, config.TRUST_PROXY)
  const close = newClose(config, storage, parts, state, server, metricsServer)
  try {
    await metricsServer?.listen()
    const url = await server.app.listen({ host: config.HOST, port: config.PORT, backlog: BACKLOG })
    const closeOnce = once(close)
    return {
      url,
      db,
      dropCaches: () => invalidate(caches, undefined),
      close: closeOnce,
      retire: () => {
        state.isReplaced = true
        return closeOnce(RETIRE_PATIENCE_MS)
      },
      startBackground: beginBackground,
      wake,
      measure: metrics.measure,
    }
  } catch (error) {
    await close(0)
    throw error
  }
}

/** What changes while the service runs. */
type State = {
  draining: boolean
  /** Another worker has taken its place. */
  isReplaced: boolean
  background: Background | null
}

type Parts = ReturnType<typeof newParts>

function newParts(config: Config, storage: Storage, resolve: Resolve, timings: Partial<Timings>, state: State) {
  const db = connect(storage.connection, {
    ...timings,
    connections: connectionsOfWorker(config),
    onUnavailable: (code) => metrics.databaseUnavailable(code),
  })
  const instance = newInstance(config, storage.keyring, resolve)
  const onOwnerErased = () => state.background?.maintenance.ownerErased()
  const { caches, eventNotifier, changes, notifications } = newCaches(db, instance, storage, onOwnerErased)
  const accountOf = newAccountLookup(db.lookUps)
  const feed = newEventFeed(db, eventNotifier, accountOf, timings.feed)
  const usage = newUsage(db, instance.keyring, timings.usageFlushMs)
  const reports = newUsageReports(db, instance)
  const load = newLoadShedder()
  const streams = newEventStreams(timings.slowReaderMs)
  const changeStreams = newEventStreams(timings.slowReaderMs, CHANGE_SEATS)
  const { keys } = caches
  const sealer = () => state.background?.sealer ?? null
  const metrics = newMetrics(
    measurable({ db, load, streams, changeStreams, keys, notifications, changes, reports, sealer }),
  )
  const served = { feed, changes, usage, reports, streams, changeStreams }
  return { db, instance, caches, notifications, accountOf, load, metrics, ...served }
}

async function newPipeline(
  config: Config,
  parts: Parts,
  log: Logger,
  state: State,
  onChange: () => void,
): Promise<Pipeline> {
  const { db, instance, caches, changes, feed, usage, reports, load, streams, changeStreams, metrics, accountOf } =
    parts
  return {
    db,
    instance,
    auth: {
      jwt: await jwtCheckFrom(config),
      oidc: await newOidcClient(config, (reason) => log.warn({ work: 'oidc', reason }, 'failed')),
      caches,
      corsOrigins: config.CORS_ORIGINS,
      signatures: { github: newGithubSignatureCheck(config.GITHUB_KEYS_URL) },
    },
    limits: {
      rate: newRateLimits(config.RATE_LIMIT),
      services: newServiceRateLimit(config.SERVICE_TOKEN_RATE_LIMIT),
      load,
      shares: newTenantShares(load.limit),
      identifying: newTenantShares(() => MAX_IDENTIFYING),
      parseTurns: newParseTurns(),
      slots: newConnectionSlots(db.connections().serving),
      largeReads: newLargeReads(),
      streams,
      changeStreams,
      longAnswers: newLongAnswers(),
      longWork: newLongWork(db.connections().serving),
    },
    verifier: newVerifier(db, instance, caches.keys, usage, metrics.verified),
    feed,
    changes,
    usageReports: reports,
    metrics,
    spans: newRequestSpans(),
    log,
    accountOf,
    draining: () => state.draining,
    onChange,
  }
}

/** Takes the service apart: what brings work first, then what works, then what it works with. */
function newClose(
  { SHUTDOWN_DELAY }: Config,
  storage: Storage,
  { db, streams, changeStreams, load, feed, changes, usage, notifications }: Parts,
  state: State,
  { app, admission, connections }: Awaited<ReturnType<typeof buildServer>>,
  metricsServer: ReturnType<typeof newMetricsServer> | null,
): (patienceMs?: number) => Promise<void> {
  return async (patienceMs = DRAIN_TIMEOUT_MS) => {
    state.draining = true
    const { background, isReplaced } = state
    streams.close()
    changeStreams.close()
    const sent = Promise.all([background?.dispatcher, background?.mailer].map((part) => part?.close(patienceMs * 3)))
    if (app.server.listening) {
      if (patienceMs > 0 && !isReplaced) await sleep(SHUTDOWN_DELAY * SECOND)
      // The other workers take the connections that are coming.
      await stopListening(app.server, admission, isReplaced ? 0 : patienceMs)
      await closeConnections(app.server, connections, patienceMs)
    }
    await app.close()
    await metricsServer?.close()
    background?.maintenance.stop()
    load.close()
    feed.close()
    changes.close()
    await background?.sealer.close()
    await usage.close()
    await sent
    await notifications.close()
    await db.close()
    await storage.close()
  }
}

/** The caches of callers and keys, and the notifications of the database that keep the keys true. */
function newCaches(db: Database, instance: Instance, storage: Storage, onOwnerErased: () => void) {
  const keys = newKeyCache(
    db,
    instance.keyring,
    (token) => keyFormOf(instance.keyPrefix, token),
    () => notifications.caughtUpTo(),
  )
  const caches: Pipeline['auth']['caches'] = { callers: newCallerCache(), keys }
  const eventNotifier = newEventNotifier()
  const changes = newKeyChanges(db, instance, () => notifications.caughtUpTo().mono)
  const onChange = (payload: string) => {
    const [id = '', storeId = id] = payload.split(' ')
    if (id.startsWith('svc_')) caches.callers.invalidate()
    keys.invalidate(id)
    changes.received(id, storeId)
  }
  const notifications = listen(
    storage.connection,
    { [CHANGES_CHANNEL]: onChange, [EVENTS_CHANNEL]: eventNotifier.publish, [ERASED_OWNERS_CHANNEL]: onOwnerErased },
    (isOver) => {
      keys.onGap()
      changes.onGap(isOver)
      eventNotifier.publish(null)
    },
  )
  return { caches, eventNotifier, changes, notifications }
}

/** Connections that wait to be accepted. The system's own limit may be lower: net.core.somaxconn on Linux. */
const BACKLOG = 4_096
const DRAIN_TIMEOUT_MS = SECOND
/** A worker that another has replaced is in no hurry. */
const RETIRE_PATIENCE_MS = 5 * SECOND

function once(work: (patienceMs?: number) => Promise<void>): Service['close'] {
  let done: Promise<void> | undefined
  return (patienceMs) => {
    done ??= work(patienceMs)
    return done
  }
}
