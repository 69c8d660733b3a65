// Checks the signature of GitHub's secret scanning. It signs the body (ECDSA on P-256 with SHA-256) and names the key
// it signed with; GitHub publishes the public keys. The set is cached for an hour. An unknown key id fetches it again,
// at most once a minute; while it cannot be fetched, the cached set still counts.

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { boundedFetch } from '../core/bounded-fetch.ts'
import { HOUR, MINUTE, now, SECOND } from '../core/clock.ts'
import { fail } from '../core/errors.ts'

/** Throws unless the bytes are signed by whom they should come from. */
export type SignatureCheck = (bytes: Buffer, header: (name: string) => string | undefined) => Promise<void>

type KeySet = Map<string, KeyObject>

const KEY_SET_TTL_MS = HOUR
const ASKED_AGAIN_MS = MINUTE
/** They publish a handful, of some 250 bytes each. */
const FETCH_BOUNDS = { timeoutMs: 3 * SECOND, maxBytes: 64 * 1024 }
const KEY_ID = /^[\x21-\x7e]{1,200}$/
const SIGNATURE = /^[A-Za-z0-9+/]{8,200}={0,2}$/

/** Without a URL every report is refused. */
export function newGithubSignatureCheck(url: string | null): SignatureCheck {
  if (url === null)
    return async () => fail('invalid_signature', { detail: 'Reports from GitHub are disabled on this service.' })
  const keyFor = remoteKeySet(url)
  return async (bytes, header) => {
    const keyId = header('github-public-key-identifier') ?? ''
    const signature = header('github-public-key-signature') ?? ''
    if (!KEY_ID.test(keyId) || !SIGNATURE.test(signature)) return fail('invalid_signature')
    const key = await keyFor(keyId)
    if (!key || !verify('sha256', bytes, { key, dsaEncoding: 'der' }, Buffer.from(signature, 'base64')))
      fail('invalid_signature')
  }
}

function remoteKeySet(url: string): (keyId: string) => Promise<KeyObject | undefined> {
  let keys: KeySet | null = null
  let fetchedAt = 0
  let askedAt = 0
  let underWay: Promise<void> | null = null

  async function refresh(): Promise<void> {
    askedAt = now().getTime()
    const fetched = await fetchKeys(url)
    if (fetched === null) return
    keys = fetched
    fetchedAt = askedAt
  }

  return async (keyId) => {
    const at = now().getTime()
    const due = !keys?.has(keyId) || at - fetchedAt >= KEY_SET_TTL_MS
    if (due && (underWay || at - askedAt >= ASKED_AGAIN_MS)) {
      underWay ??= refresh().finally(() => {
        underWay = null
      })
      await underWay
    }
    // The signature cannot be checked without the keys: GitHub should try again later.
    if (keys === null) return fail('unavailable', { retryAfterSeconds: ASKED_AGAIN_MS / SECOND })
    return keys.get(keyId)
  }
}

/** Null when the keys cannot be fetched, or the response is not a set of keys. */
async function fetchKeys(url: string): Promise<KeySet | null> {
  try {
    const headers = { accept: 'application/json', 'user-agent': 'storekeeper' }
    const response = await boundedFetch(url, { headers }, FETCH_BOUNDS)
    const keys = response.ok ? readKeys(await response.json()) : null
    return keys && keys.size > 0 ? keys : null
  } catch {
    return null
  }
}

/** `{public_keys: [{key_identifier, key}]}`. Keys that are not on P-256 are skipped. */
function readKeys(sent: unknown): KeySet {
  const listed = (sent as { public_keys?: unknown } | null)?.public_keys
  const keys: KeySet = new Map()
  for (const entry of Array.isArray(listed) ? listed : []) {
    const { key_identifier: id, key: pem } = (entry ?? {}) as Record<string, unknown>
    const key = typeof pem === 'string' ? readKey(pem) : null
    if (typeof id === 'string' && key) keys.set(id, key)
  }
  return keys
}

function readKey(pem: string): KeyObject | null {
  try {
    const key = createPublicKey(pem)
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null
  } catch {
    return null
  }
}
