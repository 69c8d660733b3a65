// A worker: one of the processes that serve the same port. Its primary (primary.ts) has opened the database, and tells it
// when to begin, to do the work that runs without requests, and to stop.

import { once } from 'node:events'
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Say } from '../db/embedded/embedded.ts'
import { type Service, startService } from '../service.ts'
import { joinedStorage } from '../storage.ts'
import type { ToPrimary, ToWorker } from './messages.ts'

/** Those that a whole group of processes gets, from a terminal or from a supervisor. */
const GROUP_SIGNALS = ['SIGINT', 'SIGHUP', 'SIGTERM'] as const

/** `stopMs`: how long an orderly end may take. `flush` writes what is left of the log. */
export async function runWorker(
  config: Config,
  log: Logger,
  say: Say,
  stopMs: number,
  flush: () => void,
): Promise<void> {
  // The primary gets them too, and then tells its workers.
  for (const signal of GROUP_SIGNALS) process.on(signal, () => {})
  const started = once(process, 'message')
  tell({ kind: 'listening' })
  const [{ connection }] = (await started) as [Extract<ToWorker, { kind: 'start' }>]
  // In lists of processes, unlike the spare.
  process.title = 'storekeeper worker'
  const sums = newSumRequests()
  try {
    const service = await startService(config, log, say, undefined, undefined, {
      openStorage: () => joinedStorage(config, connection),
      cluster: { wakeLead: () => tell({ kind: 'wake' }), readMetrics: sums.read },
    })
    obey(service, sums.answered, log, stopMs, flush)
    tell({ kind: 'ready', url: service.url })
  } catch (error) {
    tell({ kind: 'failed', message: (error as Error).message })
    flush()
    process.disconnect()
  }
}

function obey(
  service: Service,
  onSum: (request: number, text: string) => void,
  log: Logger,
  stopMs: number,
  flush: () => void,
): void {
  let isReplaced = true
  process.on('SIGTERM', () => tell({ kind: 'told to stop' }))
  const grace = closeWithGrace({ delay: stopMs, logger: false, skip: [...GROUP_SIGNALS] }, async ({ err }) => {
    if (err) {
      log.fatal({ err: { name: err.name, stack: err.stack } }, 'worker stopping on an error')
      tell({ kind: 'ending' })
    }
    await (isReplaced ? service.retire() : service.close())
    await reportMetrics(service, null)
    flush()
  })
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'lead') service.startBackground()
    else if (message.kind === 'wake') service.wake()
    else if (message.kind === 'measure') void reportMetrics(service, message.request)
    else if (message.kind === 'metrics') onSum(message.request, message.text)
    else if (message.kind === 'stop') {
      isReplaced = message.isReplaced
      grace.close()
    }
  })
}

async function reportMetrics(service: Service, request: number | null): Promise<void> {
  tell({ kind: 'measured', request, metrics: await service.measure() })
}

/** Asks the primary for the metrics of the whole machine. */
function newSumRequests() {
  const waiting = new Map<number, (text: string) => void>()
  let requests = 0
  return {
    read: () =>
      new Promise<string>((resolve) => {
        requests += 1
        waiting.set(requests, resolve)
        tell({ kind: 'metrics', request: requests })
      }),
    answered(request: number, text: string): void {
      waiting.get(request)?.(text)
      waiting.delete(request)
    },
  }
}

function tell(message: ToPrimary): void {
  // A worker whose primary is gone ends.
  if (process.connected) process.send?.(message)
}
