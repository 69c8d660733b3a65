// Encrypting a stream under a passphrase. The key comes from the passphrase by scrypt; the stream is cut into chunks, each
// sealed with AES-256-GCM under a nonce that holds its number and whether it is the last: the STREAM construction (Hoang,
// Reyhanitabar, Rogaway, Vizár, 2015) as age has it. A chunk that is altered, moved, repeated or missing does not open, and
// nothing is handed on before its chunk was opened. The salt is new for each stream, and so is the key: nonces count from 0.

import { createCipheriv, createDecipheriv, createHmac, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { randomBytes } from './random.ts'
import type { Secret } from './secret.ts'

const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
/** 128 MiB and some 0.3 s for each guess. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 }

/** A chunk did not open: the stream was altered or cut off. */
export class BrokenStream extends Error {}

export type StreamKey = {
  salt: string
  /** Tells a wrong passphrase from a broken stream. */
  check: string
  key: Buffer
}

export async function newStreamKey(passphrase: Secret): Promise<StreamKey> {
  return deriveKey(passphrase, Buffer.from(randomBytes(16)).toString('hex'))
}

/** Null: it was another passphrase. */
export async function openStreamKey(passphrase: Secret, salt: string, check: string): Promise<StreamKey | null> {
  const derived = await deriveKey(passphrase, salt)
  const [ours, theirs] = [Buffer.from(derived.check), Buffer.from(check)]
  return ours.length === theirs.length && timingSafeEqual(ours, theirs) ? derived : null
}

async function deriveKey(passphrase: Secret, salt: string): Promise<StreamKey> {
  const derive = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt)
  const bytes = await derive(passphrase.reveal().normalize('NFC'), Buffer.from(salt, 'hex'), 64, SCRYPT)
  const check = createHmac('sha256', bytes.subarray(32)).update(salt).digest('hex')
  return { salt, check, key: bytes.subarray(0, 32) }
}

export async function* encrypt({ key }: StreamKey, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const { bytes, number, isLast } of chunksOf(source, CHUNK_BYTES)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number, isLast))
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }
}

export async function* decrypt({ key }: StreamKey, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const { bytes, number, isLast } of chunksOf(source, CHUNK_BYTES + TAG_BYTES)) {
    if (bytes.length < TAG_BYTES) throw new BrokenStream()
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number, isLast), { authTagLength: TAG_BYTES })
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
    const plain = decipher.update(bytes.subarray(0, bytes.length - TAG_BYTES))
    try {
      decipher.final()
    } catch {
      throw new BrokenStream()
    }
    yield plain
  }
}

type Chunk = { bytes: Buffer; number: number; isLast: boolean }

/** All but the last are of the same size. There is always a last one, which is empty only when all is. */
async function* chunksOf(source: AsyncIterable<Buffer>, size: number): AsyncGenerator<Chunk> {
  let waiting: Buffer = Buffer.alloc(0)
  let number = 0
  for await (const part of source) {
    waiting = waiting.length === 0 ? part : Buffer.concat([waiting, part])
    for (; waiting.length > size; waiting = waiting.subarray(size), number++)
      yield { bytes: waiting.subarray(0, size), number, isLast: false }
  }
  yield { bytes: waiting, number, isLast: true }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}
