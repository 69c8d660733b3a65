// config → service → listen → close. What a person should read goes to stderr; stdout is the log, a line of JSON each.

import closeWithGrace from 'close-with-grace'
import pino from 'pino'
import { onInterrupt } from './cli/interrupt.ts'
import { ConfigError, readConfig } from './config.ts'
import { SECOND } from './core/clock.ts'
import { startService } from './service.ts'

const DRAIN_MS = 10 * SECOND

const say = (line: string) => void process.stderr.write(`${line}\n`)

try {
  const config = readConfig(process.env)
  const out = pino.destination({ fd: 1, sync: false, minLength: 8192, periodicFlush: 250 })
  const log = pino({ level: config.LOG_LEVEL, base: null, timestamp: pino.stdTimeFunctions.isoTime }, out)
  const starting = startService(config, log, say)
  const grace = closeWithGrace(
    { delay: config.SHUTDOWN_DELAY * SECOND + DRAIN_MS, logger: false, skip: ['SIGINT', 'SIGTERM'] },
    async ({ err }) => {
      if (err) log.fatal({ err: { name: err.name, stack: err.stack } }, 'stopping on an error')
      // A signal during the start waits for the start to finish: otherwise the embedded database would be left running.
      const service = await starting.catch(() => null)
      await service?.close()
      log.info('stopped')
      out.flushSync()
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
    `\nStorekeeper is ready at ${service.url}\n  docs:    ${service.url}/docs\n  try it:  npm run quickstart${config.PORT === 3000 ? '' : ` ${service.url}`}\n`,
  )
} catch (error) {
  say(error instanceof ConfigError ? error.message : `Storekeeper could not start: ${(error as Error).message}`)
  process.exitCode = 1
}
