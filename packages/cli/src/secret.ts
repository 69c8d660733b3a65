// Secrets that are shown once: alone on stdout, in a file of their own, or in the JSON that was asked for.

import { closeSync, fstatSync, openSync, rmSync, writeSync } from 'node:fs'
import type { Command } from 'commander'
import { callerPath } from '../../../src/cli/io.ts'
import { onceOptions } from './command.ts'
import { UsageError } from './errors.ts'
import { type App, NotDelivered, once, type Session } from './session.ts'

export type SecretOptions = { to?: string; idempotencyKey?: string; json?: true }

export function secretOptions(command: Command): Command {
  return onceOptions(command).option('--to <file>', 'write the secret to this new file, which only you can read')
}

/**
 * Makes something with a secret, and hands it over. The file is there before the service is asked: what could not be kept
 * is not made.
 */
export async function handOver<Made extends object>(
  app: App,
  { io, out }: Session,
  { to, idempotencyKey, fixed }: SecretOptions & { fixed?: Record<string, string | undefined> },
  member: keyof Made & string,
  make: (idempotencyKey: string) => Promise<Made>,
): Promise<Made> {
  const file = to === undefined ? null : openSecretFile(callerPath(io, to), to)
  try {
    return await once(app, { idempotencyKey, ...(fixed ? { fixed } : {}) }, async (key) => {
      const made = await make(key)
      const { [member]: secret, ...rest } = made
      try {
        file?.write(String(secret))
        if (out.json) await io.deliver(JSON.stringify(file ? rest : made, null, out.isTerminal ? 2 : undefined))
        else if (!file) await io.deliver(String(secret))
      } catch (error) {
        throw new NotDelivered(error as Error)
      }
      return made
    })
  } finally {
    file?.close()
  }
}

function openSecretFile(path: string, given: string) {
  let descriptor: number
  try {
    // Never one that is there already: others may read it, or it is somebody's secret.
    descriptor = openSync(path, 'wx', 0o600)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(code === 'EEXIST' ? `${given} is there already: name a new file.` : `${given}: ${message}`)
  }
  return {
    write: (secret: string) => void writeSync(descriptor, `${secret}\n`),
    /** A file that got nothing goes away again. */
    close: () => {
      const isEmpty = fstatSync(descriptor).size === 0
      closeSync(descriptor)
      if (isEmpty) rmSync(path, { force: true })
    },
  }
}
