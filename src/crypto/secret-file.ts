// The server secret of an embedded database, in a file beside it, and the previous one while the secret is being
// changed. A file is written under another name, synced to disk and then renamed, so that it is complete or absent:
// without the secret no key works and no address can be read.

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type Keyring, newKeyring } from './keyring.ts'
import { Secret } from './secret.ts'

const CURRENT = 'server-secret'
const PREVIOUS = 'server-secret.previous'

export function secretFileExists(dataDir: string): boolean {
  return existsSync(join(dataDir, CURRENT))
}

/** The current one is made at the first start. */
export function readOrCreateSecret(dataDir: string): Secret {
  const path = join(dataDir, CURRENT)
  if (!secretFileExists(dataDir))
    writeDurably(path, newSecret(), (draft) => {
      try {
        linkSync(draft, path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      rmSync(draft)
    })
  return read(path)
}

export function readPreviousSecret(dataDir: string): Secret | null {
  const path = join(dataDir, PREVIOUS)
  return existsSync(path) ? read(path) : null
}

/**
 * A new secret; the old one is kept first. Killed in between, both files hold the old one, which is as good as none.
 */
export function rotateSecretFile(dataDir: string): Keyring {
  const before = readOrCreateSecret(dataDir)
  const after = newSecret()
  replaceFile(join(dataDir, PREVIOUS), before.reveal())
  replaceFile(join(dataDir, CURRENT), after)
  return newKeyring(new Secret(after), before)
}

export function deletePreviousSecret(dataDir: string): void {
  rmSync(join(dataDir, PREVIOUS), { force: true })
  syncFolder(dataDir)
}

function newSecret(): string {
  return randomBytes(32).toString('base64')
}

function read(path: string): Secret {
  const text = readFileSync(path, 'utf8').trim()
  if (Buffer.from(text, 'base64').length !== 32) throw new Error(`${path} does not hold 32 bytes in base64.`)
  return new Secret(text)
}

function replaceFile(path: string, text: string): void {
  writeDurably(path, text, (draft) => renameSync(draft, path))
}

function writeDurably(path: string, text: string, move: (draft: string) => void): void {
  const draft = `${path}.${process.pid}`
  const file = openSync(draft, 'w', 0o600)
  try {
    writeSync(file, `${text}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  move(draft)
  syncFolder(dirname(path))
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
