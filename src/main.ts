// config → service or cluster → listen → close. What a person should read goes to stderr; stdout is the log, a line of JSON
// each.

import cluster from 'node:cluster'
import closeWithGrace from 'close-with-grace'
import pino, { type Logger } from 'pino'
import { onInterrupt } from './cli/interrupt.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { SECOND } from './core/clock.ts'
import { userCommand } from './core/invocation.ts'

const DRAIN_MS = 10 * SECOND
/** Several processes write to one pipe. What is written at once must fit into it, or lines would be mixed up. */
const PIPE_BYTES = 4096
/** While nobody reads the log so much of it is kept, and what comes then is dropped. */
const MAX_LOG_BYTES = 16 * 1024 * 1024
/** At the end whoever reads the log has this long to take the rest. */
const LAST_LINES_MS = 2 * SECOND

/** See `onInterrupt`. */
const OWN_SIGNALS = ['SIGINT', 'SIGTERM'] as const

const say = (line: string) => void process.stderr.write(`${line}\n`)

try {
  const config = readConfig(process.env)
  const isAlone = config.WORKERS === 1
  const sizes = isAlone ? { minLength: 8192 } : { minLength: PIPE_BYTES / 2, maxWrite: PIPE_BYTES }
  let endsAt = Number.POSITIVE_INFINITY
  const out = pino.destination({
    fd: 1,
    sync: false,
    periodicFlush: 250,
    maxLength: MAX_LOG_BYTES,
    retryEAGAIN: () => performance.now() < endsAt,
    ...sizes,
  })
  const flush = () => {
    endsAt = performance.now() + LAST_LINES_MS
    try {
      out.flushSync()
    } catch {
      out.destroy()
    }
  }
  const base = cluster.worker ? { worker: cluster.worker.id } : null
  const log = pino({ level: config.LOG_LEVEL, base, timestamp: pino.stdTimeFunctions.isoTime }, out)
  const stopMs = config.SHUTDOWN_DELAY * SECOND + DRAIN_MS
  if (cluster.isWorker) await (await import('./cluster/worker.ts')).runWorker(config, log, say, stopMs, flush)
  else await run(config, log, stopMs, flush)
} catch (error) {
  say(error instanceof ConfigError ? error.message : `Storekeeper could not start: ${(error as Error).message}`)
  process.exitCode = 1
}

async function run(config: Config, log: Logger, stopMs: number, flush: () => void): Promise<void> {
  // It replaces workers. While the primary starts or stops nobody would listen to it, and it would end the process.
  if (config.WORKERS > 1) process.on('SIGHUP', () => {})
  const starting = start(config, log, stopMs)
  const grace = closeWithGrace(
    { delay: stopMs, logger: false, skip: config.WORKERS > 1 ? [...OWN_SIGNALS, 'SIGHUP'] : [...OWN_SIGNALS] },
    async ({ err }) => {
      if (err) log.fatal({ err: { name: err.name, stack: err.stack } }, 'stopping on an error')
      // A signal during the start waits for the start to finish: otherwise the embedded database would be left running.
      const service = await starting.catch(() => null)
      await service?.close()
      log.info('stopped')
      flush()
    },
  )
  onInterrupt(
    (signal) => {
      log.info({ signal }, 'stopping')
      grace.close()
    },
    () => process.exit(1),
  )
  const service = await starting.catch((error) => {
    grace.uninstall()
    throw error
  })
  log.info({ url: service.url }, 'listening')
  say(
    `\nStorekeeper is ready at ${service.url}\n  docs:    ${service.url}/docs\n  try it:  ${userCommand('quickstart')}${config.PORT === 3000 ? '' : ` ${service.url}`}\n`,
  )
}

/** What is not needed is not loaded: the primary of a cluster stays small. */
async function start(config: Config, log: Logger, stopMs: number): Promise<{ url: string; close(): Promise<void> }> {
  if (config.WORKERS === 1) return (await import('./service.ts')).startService(config, log, say)
  const { startCluster } = await import('./cluster/primary.ts')
  return startCluster(config, log, say, import.meta.filename, stopMs)
}
