// Asks the service that has these settings whether it is ready: for the health check of a container, whose image has no curl.

import { get } from 'node:http'
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { SECOND } from '../core/clock.ts'
import type { Io } from './io.ts'

const PATIENCE_MS = 3 * SECOND
/** A service that listens on all addresses is asked on loopback. */
const LOOPBACK: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

export function addHealth(program: Command, io: Io): void {
  program
    .command('health')
    .description('ask the running service with these settings whether it is ready')
    .action(async () => io.print(await askReadiness(io.env)))
}

/** The status that the service reports; throws unless it is ready. */
async function askReadiness(env: Io['env']): Promise<string> {
  const { HOST, PORT } = readConfig(env)
  if (PORT === 0) throw new Error('With PORT=0 the service takes a port that this command cannot know.')
  const address = { host: LOOPBACK[HOST] ?? HOST, port: PORT, path: '/readyz' }
  const { code, text } = await new Promise<{ code: number | undefined; text: string }>((resolve, reject) => {
    const onFailure = (error: Error) => reject(new Error(`Nothing answers at ${HOST}:${PORT}: ${error.message}`))
    const request = get({ ...address, agent: false, signal: AbortSignal.timeout(PATIENCE_MS) }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', onFailure).on('end', () => resolve({ code: response.statusCode, text }))
    })
    request.on('error', onFailure)
  })
  const status = statusIn(text)
  if (code !== 200) throw new Error(`Not ready: ${status ?? `status ${code}`}`)
  return status ?? 'ready'
}

function statusIn(text: string): string | undefined {
  try {
    return String(JSON.parse(text).status)
  } catch {
    return undefined
  }
}
