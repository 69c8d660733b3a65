// Where the service lives: its database, and the secret everything else is derived from. Embedded, both are in DATA_DIR;
// with DATABASE_URL both come from the settings.

import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Connection } from './db/db.ts'
import { borrowEmbedded, startEmbedded } from './db/embedded.ts'
import { Secret } from './secrets.ts'

export type Home = { connection: Connection; secret: Secret; close(): Promise<void> }

type Say = (line: string) => void

/** For the service itself: one for each data directory. */
export function openHome(config: Config, say: Say): Promise<Home> {
  return home(config, () => startEmbedded(config.DATA_DIR, say))
}

/** For the operator's commands, also beside a running service. */
export function visitHome(config: Config, say: Say): Promise<Home> {
  return home(config, () => borrowEmbedded(config.DATA_DIR, say))
}

async function home(config: Config, embedded: () => ReturnType<typeof startEmbedded>): Promise<Home> {
  const { DATABASE_URL: url, SERVER_SECRET: given } = config
  // The settings are refused when a URL comes without a secret.
  if (url !== null && given !== null)
    return { connection: { connectionString: url.reveal() }, secret: given, close: async () => {} }
  const { connection, dataDir, stop } = await embedded()
  return { connection, secret: given ?? ownSecret(dataDir), close: stop }
}

/** Made at the first start. Written beside its place and then put there, so that it is whole or not there at all. */
function ownSecret(dataDir: string): Secret {
  const path = join(dataDir, 'server-secret')
  if (!existsSync(path)) {
    const draft = `${path}.${process.pid}`
    writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
    try {
      linkSync(draft, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft)
    }
  }
  const text = readFileSync(path, 'utf8').trim()
  if (Buffer.from(text, 'base64').length !== 32) throw new Error(`${path} does not hold 32 bytes in base64.`)
  return new Secret(text)
}
