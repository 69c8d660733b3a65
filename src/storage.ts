// The storage of a service: its database, and the server secret. Embedded, both are in DATA_DIR; with DATABASE_URL both
// come from the settings.

import { type Config, connectionsOfWorker } from './config.ts'
import { type Keyring, newKeyring } from './crypto/keyring.ts'
import { readOrCreateSecret, readPreviousSecret, secretFileExists } from './crypto/secret-file.ts'
import type { Connection } from './db/db.ts'
import { hasEmbedded } from './db/embedded/cluster.ts'
import { joinEmbedded, type Say, startEmbedded } from './db/embedded/embedded.ts'
import { inspectDatabase } from './db/migrate.ts'

export type Storage = {
  connection: Connection
  keyring: Keyring
  /** The folder of the secret file; null when the secret comes from the settings. */
  secretDir: string | null
  close(): Promise<void>
}

/** For the service itself, and for commands that must run alone: one process for each data directory. */
export function openStorage(config: Config, say: Say): Promise<Storage> {
  // Each worker has one more, which listens.
  const connections = (connectionsOfWorker(config) + 1) * config.WORKERS
  return storage(config, () => startEmbedded(config.DATA_DIR, say, undefined, connections))
}

/** For a restore: alone, and with the secret of the database that is restored, so that none is created. */
export function openStorageToRestore(config: Config, say: Say): Promise<Storage> {
  return storage(config, () => startEmbedded(config.DATA_DIR, say), { createSecret: false })
}

/** For the operator's commands, also beside a running service. */
export function joinStorage(config: Config, say: Say): Promise<Storage> {
  return storage(config, () => joinEmbedded(config.DATA_DIR, say))
}

/** For a worker: its primary has opened the embedded database, and closes it. */
export function joinedStorage(config: Config, connection: Connection): Promise<Storage> {
  return storage(config, async () => ({ connection, dataDir: config.DATA_DIR, stop: async () => {} }))
}

/** False where opening the storage would create an empty one. */
export async function storageExists(config: Config): Promise<boolean> {
  return config.DATABASE_URL !== null || hasEmbedded(config.DATA_DIR)
}

async function storage(
  config: Config,
  embedded: () => Promise<{ connection: Connection; dataDir: string; stop(): Promise<void> }>,
  { createSecret = true } = {},
): Promise<Storage> {
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
    if (!given && !createSecret && !secretFileExists(dataDir))
      throw new Error(
        `The server secret is not part of a backup: put the file server-secret of the service that was backed up into ${dataDir}, or set SERVER_SECRET to it. Without it no API key would work and no address could be read.`,
      )
    // With a new secret no existing key would work and no existing address could be read.
    if (!given && !secretFileExists(dataDir) && (await inspectDatabase(connection)) === 'in use')
      throw new Error(`The secret of this database, server-secret, is missing in ${dataDir}. Restore it from a backup.`)
    const keyring = given
      ? newKeyring(given, previous)
      : newKeyring(readOrCreateSecret(dataDir), previous ?? readPreviousSecret(dataDir))
    return { connection, keyring, secretDir: given ? null : dataDir, close: stop }
  } catch (error) {
    await stop()
    throw error
  }
}
