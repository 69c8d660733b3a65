// GitHub's part of its secret scanning, on this machine: it publishes the keys it signs with, and signs.

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

type Signed = { raw: string; headers: Record<string, string> }
type PublishedKey = { key_identifier: string; key: string; is_current: boolean }

export type Github = {
  /** Where its keys are. */
  url: string
  /** How often they were asked for. */
  asked(): number
  /** Signs from now on with a new key, and publishes it beside those before, if it is to be. */
  updateKey(published?: boolean): void
  publish(...keys: PublishedKey[]): void
  sign(body: unknown): Signed
  /** What it answers from now on instead of its keys; nothing: its keys again. */
  answer(instead?: (response: ServerResponse) => void): void
}

/** Gone when the test is over, unless it is said when. */
export async function playGithub(whenOver: (close: () => Promise<void>) => void = onTestFinished): Promise<Github> {
  const keys: PublishedKey[] = []
  let signer: { id: string; key: KeyObject }
  let asked = 0
  let instead: ((response: ServerResponse) => void) | undefined
  const server = createServer((_request, response) => {
    asked += 1
    if (instead) instead(response)
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ public_keys: keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenOver(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const updateKey = (published = true) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const key = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    signer = { id: createHash('sha256').update(key).digest('hex'), key: privateKey }
    if (published) keys.push({ key_identifier: signer.id, key, is_current: true })
  }
  updateKey()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/meta/public_keys/secret_scanning`,
    asked: () => asked,
    updateKey,
    publish: (...more) => void keys.push(...more),
    sign: (body) => {
      const raw = JSON.stringify(body)
      return { raw, headers: signedHeaders(signer.id, sign('sha256', Buffer.from(raw), signer.key).toString('base64')) }
    },
    answer: (other) => {
      instead = other
    },
  }
}

export function signedHeaders(keyId: string, signature: string): Record<string, string> {
  return { 'github-public-key-identifier': keyId, 'github-public-key-signature': signature }
}
