// Backup and restore, for the embedded database and for one of the operator's own. They need no program of PostgreSQL's.

import { createReadStream, readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Writable } from 'node:stream'
import type { Command } from 'commander'
import { writeBackup } from '../backup/backup.ts'
import { type BackupFile, openBackup } from '../backup/file.ts'
import type { Progress } from '../backup/progress.ts'
import { checkBackup, type RestoreOptions, restoreDatabase } from '../backup/restore.ts'
import { readConfig } from '../config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { Secret } from '../crypto/secret.ts'
import type { Schema } from '../db/snapshot.ts'
import { openStorageToRestore } from '../storage.ts'
import { callerPath, type Io } from './io.ts'
import { withStorage } from './with-database.ts'
import { withProgress } from './with-progress.ts'

const MIN_PASSPHRASE_LENGTH = 12

export function addBackup(program: Command, io: Io): void {
  program
    .command('backup')
    .usage('<file>')
    .argument('<file>')
    .option('--passphrase-file <file>')
    .description('back up the database to a file, or to stdout as -, also beside the running service')
    .action((file: string, options: Passphrase) => backup(file, options, io))
  program
    .command('restore')
    .usage('<file>')
    .argument('<file>')
    .option('--passphrase-file <file>')
    .option('--check')
    .option('--discard-pending')
    .option('--end-sessions')
    .description('restore a backup, from a file or - for stdin, into an empty database; --check: only verify the file')
    .action((file: string, options: Passphrase & RestoreOptions & { check?: boolean }) =>
      options.check ? check(file, options, io) : restore(file, options, io),
    )
}

type Passphrase = { passphraseFile?: string }

/** Never an argument: every user of the machine can read those. */
function passphraseOf({ passphraseFile }: Passphrase, io: Io): Secret | null {
  if (passphraseFile !== undefined) {
    const text = readFileSync(callerPath(io, passphraseFile), 'utf8').replace(/\r?\n$/, '')
    if (text === '') throw new Error(`${passphraseFile} is empty: it should hold the passphrase.`)
    return new Secret(text)
  }
  return io.env.BACKUP_PASSPHRASE ? new Secret(io.env.BACKUP_PASSPHRASE) : null
}

async function backup(file: string, options: Passphrase, io: Io): Promise<void> {
  const passphrase = passphraseOf(options, io)
  if (passphrase && passphrase.reveal().length < MIN_PASSPHRASE_LENGTH)
    throw new Error(`The passphrase should have at least ${MIN_PASSPHRASE_LENGTH} characters.`)
  await withStorage(io, (_, { connection, secretDir }) =>
    withProgress(io, async (progress) => {
      const write = (destination: Writable) => writeBackup(connection, passphrase, destination, progress)
      const { schema, rows } = file === '-' ? await write(io.stdout) : await writeDurably(callerPath(io, file), write)
      io.say(
        `${rows.toLocaleString('en')} rows as of ${schema.at}, ${passphrase ? 'encrypted' : 'not encrypted: whoever has the file can read names and e-mail addresses'}.`,
      )
      const where = secretDir === null ? 'SERVER_SECRET' : `${secretDir}/server-secret`
      io.say(
        `The server secret (${kidsOf(schema)}) is not in it: keep ${where} in another place. Without it the backup is of no use.`,
      )
    }),
  )
}

/** The file appears by rename when it is whole and on disk, and only its owner can read it. */
async function writeDurably<T>(path: string, write: (destination: Writable) => Promise<T>): Promise<T> {
  const draft = `${path}.${process.pid}.part`
  const handle = await open(draft, 'wx', 0o600)
  try {
    const result = await write(handle.createWriteStream({ autoClose: false, flush: true }))
    await handle.sync()
    await handle.close()
    await rename(draft, path)
    const folder = await open(dirname(path))
    await folder.sync().finally(() => folder.close())
    return result
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(draft, { force: true })
    throw error
  }
}

async function check(file: string, options: Passphrase, io: Io): Promise<void> {
  const { schema, rows } = await withProgress(io, (progress) => readThrough(file, options, io, progress))
  io.say(`The file is whole: ${rows.toLocaleString('en')} rows as of ${schema.at}, server secret ${kidsOf(schema)}.`)
}

async function restore(file: string, options: Passphrase & RestoreOptions, io: Io): Promise<void> {
  const config = readConfig(io.env)
  await withProgress(io, async (progress) => {
    // Nothing is created for a file that cannot be restored. What comes from a pipe is checked on its way, before the commit.
    if (file !== '-') {
      progress.say('Checking the file …')
      await readThrough(file, options, io, { ...progress, say: () => {} })
    }
    const backup = await openFile(file, options, io)
    const storage = await openStorageToRestore(config, io.say)
    try {
      checkSecrets(backup.schema, storage.keyring)
      const { rows, events } = await restoreDatabase(storage.connection, backup, options, progress)
      io.say(
        `Restored: ${rows.toLocaleString('en')} rows as of ${backup.schema.at}; ${events.toLocaleString('en')} events verified.`,
      )
      io.say(
        'Whatever was revoked, removed or erased since that moment is valid again: see docs/backup.md before you start the service.',
      )
    } finally {
      await storage.close()
    }
  })
}

async function readThrough(file: string, options: Passphrase, io: Io, progress: Progress) {
  const backup = await openFile(file, options, io)
  return { schema: backup.schema, rows: await checkBackup(backup, progress) }
}

function openFile(file: string, options: Passphrase, io: Io): Promise<BackupFile> {
  const source: AsyncIterable<Buffer> = file === '-' ? io.stdin : createReadStream(callerPath(io, file))
  return openBackup(source, passphraseOf(options, io))
}

function checkSecrets(schema: Schema, { current, previous }: Keyring): void {
  const known = [current, ...(previous ? [previous] : [])].map(({ check }) => check.toString('hex'))
  const unknown = schema.secrets.filter(({ check }) => !known.includes(check))
  if (unknown.length === 0) return
  throw new Error(
    `This backup is of a database with the server secret ${kidsOf(schema)}, and ${unknown.map(({ kid }) => kid).join(' and ')} is not the one given (${current.kid}): put it into SERVER_SECRET, or its file server-secret into DATA_DIR (of two, the other is SERVER_SECRET_PREVIOUS or server-secret.previous). Nothing was changed.`,
  )
}

function kidsOf({ secrets }: Schema): string {
  return secrets.map(({ kid }) => kid).join(' and ') || 'not used yet'
}
