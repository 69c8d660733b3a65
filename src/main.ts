// config → service → listen → close. What a person should read goes to stderr; stdout is the log, a line of JSON each.

import closeWithGrace from 'close-with-grace'
import pino from 'pino'
import { ConfigFault, readConfig } from './config.ts'
import { startService } from './service.ts'

const DRAIN_MS = 10_000

const say = (line: string) => void process.stderr.write(`${line}\n`)

try {
  const config = readConfig(process.env)
  const out = pino.destination({ fd: 1, sync: false, minLength: 4096, periodicFlush: 250 })
  const log = pino({ level: config.LOG_LEVEL, base: null, timestamp: pino.stdTimeFunctions.isoTime }, out)
  const service = await startService(config, log, say)
  log.info({ url: service.url }, 'listening')
  say(`\nStorekeeper is ready at ${service.url}\n  docs:    ${service.url}/docs\n  try it:  npm run quickstart\n`)
  closeWithGrace({ delay: DRAIN_MS, logger: false }, async ({ err, signal }) => {
    if (err) log.fatal({ err: { name: err.name, stack: err.stack } }, 'stopping on an error')
    else log.info({ signal }, 'stopping')
    await service.close()
    log.info('stopped')
    out.flushSync()
  })
} catch (error) {
  say(error instanceof ConfigFault ? error.message : `Storekeeper could not start: ${(error as Error).message}`)
  process.exitCode = 1
}
