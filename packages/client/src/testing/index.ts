// A Storekeeper in memory, for the tests of what is built on it: the whole client, with keys that are made, revoked,
// frozen and expired by a call. Its verdicts are those of the service: a test holds one against the other.

import type { Key, KeyChanges, KeyWithSecret, NewKey, Verdict, Verification } from '../api.gen.ts'
import { type Storekeeper, storekeeper } from '../client.ts'
import { StorekeeperError } from '../error.ts'
import type { Verifier } from '../transport.ts'
import { fakeFetch } from './fetch.ts'
import { FakeKeys, newId } from './keys.ts'

export interface FakeOptions {
  /** The stores that its service token covers: one, unless you name more. Keys are made in the first. */
  stores?: readonly string[]
  /** Permissions beside the built-in ones, as in the service's EXTRA_PERMISSIONS. */
  extraPermissions?: readonly string[]
  /** Whether `verifier()` answers with `now()`, as with `inProcess` of the client. */
  inProcess?: boolean
}

export interface FakeStorekeeper extends Storekeeper {
  readonly storeId: string
  /** A new key; what is left out is a PROD key with READ. */
  createKey(settings?: Partial<NewKey> & { storeId?: string }): KeyWithSecret
  updateKey(keyId: string, changes: KeyChanges): Key
  /** A new secret; the old one works on for the grace. */
  rotateKey(keyId: string, rotation?: { gracePeriodSeconds?: number }): KeyWithSecret
  revokeKey(keyId: string, options?: { reason?: string }): Key
  /** The key ends now. */
  expireKey(keyId: string): Key
  /** All keys of the store are refused until `unfreeze`. */
  freeze(storeId?: string): void
  unfreeze(storeId?: string): void
  /** Moves its clock, by which keys expire and windows end. */
  advance(milliseconds: number): void
  /** While true, nothing answers: verifying throws `unavailable`. */
  isDown: boolean
  /** Every question that was answered, in order. */
  readonly questions: readonly Verification[]
  /** For a client of your own: `storekeeper({ url: 'http://fake', token: 'any', fetch: fake.fetch })`. */
  readonly fetch: typeof fetch
}

export function fakeStorekeeper(options: FakeOptions = {}): FakeStorekeeper {
  const { stores = [newId('store')], extraPermissions = [], inProcess = false } = options
  const [storeId] = stores
  if (storeId === undefined) throw new TypeError('fakeStorekeeper: "stores" names at least one.')
  let offset = 0
  const state = { isDown: false, questions: [] as Verification[] }
  const listeners = new Set<(id: string) => void>()
  const now = () => Date.now() + offset
  const keys = new FakeKeys(stores, extraPermissions, now, (id) => {
    for (const listener of listeners) listener(id)
  })

  const verify = (question: Verification): Verdict => {
    if (state.isDown) throw new StorekeeperError('unavailable', 'The fake is down.', { status: 503, retryAfter: 1 })
    state.questions.push(structuredClone(question))
    return keys.verdict(question, !question.explain)
  }
  /** As a verifier in the process: only what is valid and may be kept is answered without asking. */
  const verifyNow = (question: Verification): Verdict | null => {
    if (state.isDown) return null
    const found = keys.find(question)
    if (!found || !keys.mayBeKept(found) || !keys.verdict(question, false).valid) return null
    return verify(question)
  }
  const verifierOf = (inThisProcess: boolean): Verifier => ({
    verify: async (question) => verify(question),
    now: inThisProcess ? verifyNow : () => null,
    state: inThisProcess ? 'covered' : 'off',
    counters: {},
    close: async () => {},
  })

  const fetch = fakeFetch({ keys, storeId, now, verify, isDown: () => state.isDown, listeners })
  const client = storekeeper({ url: 'http://storekeeper.invalid', token: 'fake', storeId, inProcess, fetch })
  return {
    ...client,
    storeId,
    verifier: (given = {}) => verifierOf(given.inProcess ?? inProcess),
    createKey: ({ storeId: store = storeId, ...settings } = {}) => keys.create(store, settings),
    updateKey: (id, changes) => keys.update(id, changes),
    rotateKey: (id, { gracePeriodSeconds } = {}) => keys.rotate(id, gracePeriodSeconds),
    revokeKey: (id, { reason = null as string | null } = {}) => keys.revoke(id, reason),
    expireKey: (id) => keys.update(id, { expiresAt: new Date(now()) }),
    freeze: (store = storeId) => void keys.setFrozen(store, true),
    unfreeze: (store = storeId) => void keys.setFrozen(store, false),
    advance: (milliseconds) => {
      offset += milliseconds
    },
    get isDown() {
      return state.isDown
    },
    set isDown(isDown) {
      state.isDown = isDown
    },
    questions: state.questions,
    fetch,
  }
}
