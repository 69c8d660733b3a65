// Where the service lives: its database, and the secret everything else is derived from. Embedded, both are in DATA_DIR;
// with DATABASE_URL both come from the settings.

import type { Config } from './config.ts'
import { type Keyring, newKeyring } from './crypto/keyring.ts'
import { readOrCreateSecret, readPreviousSecret, secretFileExists } from './crypto/secret-file.ts'
import type { Connection } from './db/db.ts'
import { borrowEmbedded, startEmbedded } from './db/embedded.ts'
import { hasEmbedded } from './db/embedded-place.ts'
import { lookInto } from './db/migrate.ts'

export type Storage = {
  connection: Connection
  keyring: Keyring
  /** Where the secret is a file of ours; null when it comes from the settings. */
  secretDir: string | null
  close(): Promise<void>
}

type Say = (line: string) => void

/** For the service itself, and for what must be alone: one for each data directory. */
export function openStorage(config: Config, say: Say): Promise<Storage> {
  return storage(config, () => startEmbedded(config.DATA_DIR, say))
}

/** For the operator's commands, also beside a running service. */
export function joinStorage(config: Config, say: Say): Promise<Storage> {
  return storage(config, () => borrowEmbedded(config.DATA_DIR, say))
}

/** False where there would be an empty one, made for whoever came first. */
export async function storageExists(config: Config): Promise<boolean> {
  return config.DATABASE_URL !== null || hasEmbedded(config.DATA_DIR)
}

async function storage(config: Config, embedded: () => ReturnType<typeof startEmbedded>): Promise<Storage> {
  const { DATABASE_URL: url, SERVER_SECRET: given, SERVER_SECRET_PREVIOUS: previous } = config
  // The settings are refused when a URL comes without a secret.
  if (url !== null && given !== null)
    return {
      connection: { connectionString: url.reveal() },
      keyring: newKeyring(given, previous),
      secretDir: null,
      close: async () => {},
    }
  const { connection, dataDir, stop } = await embedded()
  try {
    // A new one would open nothing of what is there, and make two of everything that comes.
    if (!given && !secretFileExists(dataDir) && (await lookInto(connection)) === 'used')
      throw new Error(
        `The secret of this database, server-secret, is missing in ${dataDir}: put it back from a backup.`,
      )
    const keyring = given
      ? newKeyring(given, previous)
      : newKeyring(readOrCreateSecret(dataDir), previous ?? readPreviousSecret(dataDir))
    return { connection, keyring, secretDir: given ? null : dataDir, close: stop }
  } catch (error) {
    await stop()
    throw error
  }
}
