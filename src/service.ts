// Builds the service from its settings: database → migrations → server → listen, and takes it apart in reverse.
// main.ts runs it as a process; the tests run it in theirs.

import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { githubCheck } from './access/github.ts'
import { jwtCheckFrom } from './access/jwt.ts'
import { newKnown } from './access/known.ts'
import { KEYS_CHANNEL, newKnownKeys } from './access/known-keys.ts'
import { type Failed, newFailed } from './background.ts'
import { MINUTE, SECOND } from './clock.ts'
import type { Config } from './config.ts'
import { connect, type Database } from './db/db.ts'
import { listen } from './db/listen.ts'
import { migrate } from './db/migrate.ts'
import { newResolve, type Resolve, resolveHere } from './dns.ts'
import { EVENTS_CHANNEL, newNews } from './events/log.ts'
import { settleAfterMove, startSealing } from './events/seal.ts'
import { newFeed } from './events/stream.ts'
import { hereFrom } from './here.ts'
import { type Home, openHome } from './home.ts'
import { newMetrics } from './http/metrics.ts'
import { newOverload } from './http/overload.ts'
import { buildPages } from './http/pages.ts'
import { newLongAnswers } from './http/pieces.ts'
import { buildServer } from './http/server.ts'
import { newStreams } from './http/streams.ts'
import { newLimits } from './http/walk.ts'
import { forgetAnswers } from './idempotency/retry.ts'
import { forgetFailures, forgetSessions } from './identity/identity.ts'
import { newUsage, rollUpUsage } from './keys/usage.ts'
import { newVerifier } from './keys/verify.ts'
import { tellExpiring } from './keys/watch.ts'
import { routes } from './routes.ts'
import { isKeyToken } from './secrets.ts'
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
  resolve: Resolve = config.WEBHOOK_ALLOW_PRIVATE === 'on' ? resolveHere : newResolve(),
): Promise<Service> {
  const home = await openHome(config, say)
  try {
    await migrate(home.connection, say)
    await moveIn(home, say)
    return await serve(config, home, log, resolve)
  } catch (error) {
    await home.close()
    throw error
  }
}

/** Before anybody writes here. */
async function moveIn({ connection }: Home, say: Say): Promise<void> {
  const db = connect(connection)
  try {
    await settleAfterMove(db, say)
  } finally {
    await db.close()
  }
}

async function serve(config: Config, home: Home, log: Logger, resolve: Resolve): Promise<Service> {
  const db = connect(home.connection)
  const here = hereFrom(config, home.keyring, resolve)
  const keys = newKnownKeys(
    db,
    here.keyring,
    (token) => isKeyToken(here.keyPrefix, token),
    () => words.heardUpTo(),
  )
  const news = newNews()
  const words = listen(home.connection, { [KEYS_CHANNEL]: keys.forget, [EVENTS_CHANNEL]: news.tell }, () => {
    keys.forget()
    news.tell(null)
  })
  const feed = newFeed(db, news)
  const usage = newUsage(db, here.keyring)
  const overload = newOverload(db)
  const streams = newStreams()
  const metrics = newMetrics({
    underWay: overload.underWay,
    waiting: db.waiting,
    streams: streams.open,
    sealed: () => sealer.sealed(),
  })
  const failed = newFailed(log, metrics.failed)
  const sealer = startSealing(db, failed)
  const outlet = newOutlet(here.webhooks.resolve, here.webhooks.allowPrivate)
  const dispatcher = newDispatcher(db, here, outlet, metrics.answered, metrics.sent, failed)
  let draining = false
  const app = await buildServer({
    gate: {
      db,
      here,
      jwt: await jwtCheckFrom(config),
      known: { callers: newKnown(), keys },
      corsOrigins: config.CORS_ORIGINS,
      limits: newLimits(config.RATE_LIMIT),
      verifier: newVerifier(db, here, keys, usage, metrics.verified),
      feed,
      longAnswers: newLongAnswers(),
      changed: dispatcher.wake,
      signatures: { github: githubCheck(config.GITHUB_KEYS_URL) },
    },
    routes,
    draining: () => draining,
    pages: buildPages({ routes, db, metrics, draining: () => draining }),
    overload,
    streams,
    metrics,
    log,
    trustProxy: config.TRUST_PROXY,
  })
  // What is under way when we stop is broken off, and that is no failure.
  const keepHouse = houseKeeping(db, (work, error) => {
    if (!draining) failed(work, error)
  })

  const close = async (patienceMs = PATIENCE_MS) => {
    draining = true
    streams.close()
    const dispatched = dispatcher.close(patienceMs * 3)
    await drain(app.server, patienceMs)
    await app.close()
    clearInterval(keepHouse)
    overload.close()
    feed.close()
    await sealer.close()
    await usage.close()
    await dispatched
    await words.close()
    await db.close()
    await home.close()
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
const HOUSE_KEEPING_MS = MINUTE

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

function houseKeeping(db: Database, failed: Failed): NodeJS.Timeout {
  const chores = [
    forgetAnswers,
    forgetFailures,
    forgetSessions,
    purgeStores,
    rollUpUsage,
    tellExpiring,
    sweepDeliveries,
  ]
  return setInterval(() => {
    // What a chore does not get done now, the next one does.
    for (const chore of chores) chore(db).catch((error) => failed(chore.name, error))
  }, HOUSE_KEEPING_MS).unref()
}

function once(work: (patienceMs?: number) => Promise<void>): Service['close'] {
  let done: Promise<void> | undefined
  return (patienceMs) => {
    done ??= work(patienceMs)
    return done
  }
}
