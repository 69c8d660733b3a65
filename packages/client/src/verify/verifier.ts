// The verifier's hands: questions and the stream of changes over HTTP, timers, clocks. What may be answered from memory is
// decided in machine.ts and memory.ts alone.

import type { Verdict } from '../api.gen.ts'
import { StorekeeperError } from '../error.ts'
import type { ReadOptions } from '../options.ts'
import type { Transport, Verifier } from '../transport.ts'
import { newAsking } from './asking.ts'
import { newFollowing } from './following.ts'
import { isMalformed, NOT_FOUND } from './form.ts'
import { forget, newMachine, stateOf } from './machine.ts'
import { answer, onAnswer } from './memory.ts'
import { newReporting } from './reporting.ts'
import { unref } from './timers.ts'
import type { Lease, Question } from './types.ts'

const TICK_MS = 300
/** Without a question for so long the stream is closed; the next question opens it again. */
const IDLE_MS = 60_000
/** How long a service that does not know leases is not asked for them. */
const PLAIN_MS = 60_000

type Verify = Verifier['verify']
type Leased = Verdict & { lease: Lease | null }

/** `ask` verifies by asking the service. `sha256` hashes in the same tick. */
export function newVerifier(transport: Transport, ask: Verify, sha256: (text: string) => string): Verifier {
  const machine = newMachine(Math.random, transport.storeId)
  const { memory } = machine
  const asking = newAsking()
  const reporting = newReporting(transport, memory)
  const counters = { asked: 0, refused: 0, failed: 0 }
  const moment = () => ({ mono: performance.now(), wall: Date.now() })
  let lastAsked = Number.NEGATIVE_INFINITY
  /** Since the last look at the clock: an answer from memory takes note of no more. */
  let wasAsked = false
  let plainUntil = Number.NEGATIVE_INFINITY
  let [isClosed, isAwake] = [false, false]
  const isWanted = () => {
    noteAsked()
    return !isClosed && performance.now() - Math.max(lastAsked, plainUntil - IDLE_MS) < IDLE_MS
  }
  const following = newFollowing(transport, machine, moment, isWanted, refused)

  function noteAsked(): void {
    if (wasAsked) lastAsked = performance.now()
    wasAsked = false
  }

  function wake(): void {
    if (isClosed || isAwake) return
    isAwake = true
    if (performance.now() >= plainUntil) following.start()
    const timer = setInterval(() => {
      noteAsked()
      following.look()
      reporting.look()
      if (isClosed || (performance.now() - lastAsked > IDLE_MS && !reporting.isBusy())) {
        clearInterval(timer)
        isAwake = false
      }
    }, TICK_MS)
    unref(timer)
  }

  /** An answer that says more than that this request failed. */
  function refused({ status }: StorekeeperError): void {
    if (status === 401 || status === 403) forget(machine)
    if (status !== 404) return
    if (plainUntil < 0)
      warn('Storekeeper: the service is too old to verify keys in this process, and is asked each time.')
    plainUntil = performance.now() + PLAIN_MS
  }

  async function lease(hash: string, question: Question, options?: ReadOptions): Promise<Verdict> {
    counters.asked += 1
    const asked = moment()
    if (asked.mono < plainUntil) return ask(question, options)
    try {
      const body = inStore(question, transport.storeId)
      const answered = await transport.request<Leased>('POST', '/v1/keys/lease', { timeout: 2_000, ...options, body })
      const { lease, ...verdict } = answered
      onAnswer(machine, hash, question, freeze(verdict) as Verdict, lease, asked, moment())
      return verdict as Verdict
    } catch (error) {
      if (error instanceof StorekeeperError) refused(error)
      if (performance.now() < plainUntil) return ask(question, options)
      throw error
    }
  }

  async function verifyByAsking(hash: string, question: Question, options?: ReadOptions): Promise<Verdict> {
    if (isClosed) throw new StorekeeperError('closed', 'This verifier was closed.')
    if (machine.prefix !== null && isMalformed(machine.prefix, question.key)) {
      counters.refused += 1
      return NOT_FOUND
    }
    const shared = memory.spending.has(hash) ? undefined : asking.underWay.get(hash)
    if (shared !== undefined) {
      await shared
      const { mono, wall } = moment()
      const known = answer(machine, hash, question, mono, wall)
      if (known) return known
    }
    try {
      return await asking.take(hash, options?.timeout, () => lease(hash, question, options))
    } catch (error) {
      counters.failed += 1
      throw unavailable(error)
    }
  }

  /** In the question's tick, from memory; what is due for renewal is also asked for. */
  function look(hash: string, question: Question): Verdict | null {
    wasAsked = true
    if (!isAwake) wake()
    const verdict = answer(machine, hash, question, performance.now(), Date.now())
    if (memory.isRenewalDue) {
      memory.isRenewalDue = false
      asking.take(hash, undefined, () => lease(hash, { ...question })).catch(() => {})
    }
    return verdict
  }

  return {
    verify(question, options) {
      const hash = sha256(String(question.key))
      const known = look(hash, question)
      return known === null ? verifyByAsking(hash, question, options) : Promise.resolve(known)
    },
    now: (question) => look(sha256(String(question.key)), question),
    get state() {
      return isClosed || performance.now() < plainUntil ? 'off' : stateOf(machine, moment())
    },
    get counters() {
      const kept = memory.entries.size
      return { ...counters, ...memory.counters, ...machine.counters, ...reporting.counters, kept }
    },
    async close() {
      isClosed = true
      following.stop()
      await reporting.close()
      forget(machine)
    },
  }
}

/** Of questions that name no store, the client's own is meant. */
function inStore(question: Question, storeId: string | undefined): Question {
  return storeId === undefined || question.storeId !== undefined || question.anyStore
    ? question
    : { ...question, storeId }
}

/** That no verdict could be had, whatever the reason: nobody may be let in. What is wrong with the question is told. */
function unavailable(error: unknown): unknown {
  if (!(error instanceof StorekeeperError)) return error
  const { status, code, retryAfter, requestId } = error
  if (code === 'closed' || code === 'aborted' || (status !== undefined && status < 500)) return error
  return new StorekeeperError('unavailable', `No verdict could be had: ${error.message}`, {
    status: 503,
    retryAfter: retryAfter ?? 1,
    requestId,
    cause: error,
  })
}

/** What is kept is handed to everybody: a handler that changed it would change it for all. */
function freeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const each of Object.values(value)) freeze(each)
  return Object.freeze(value)
}

function warn(message: string): void {
  globalThis.process?.emitWarning?.(message)
}
