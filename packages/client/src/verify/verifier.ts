// The verifier's hands: questions and the stream of changes over HTTP, timers, clocks. What may be answered from memory is
// decided in machine.ts and memory.ts alone.

import type { Verdict } from '../api.gen.ts'
import { StorekeeperError } from '../error.ts'
import type { ReadOptions } from '../options.ts'
import type { Transport, Verifier } from '../transport.ts'
import { newAsking } from './asking.ts'
import { newFollowing } from './following.ts'
import { isMalformed, NOT_FOUND } from './form.ts'
import { forget, type Machine, newMachine, stateOf } from './machine.ts'
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
  const verifier = new InProcessVerifier(transport, ask)
  return {
    verify(question, options) {
      const hash = sha256(String(question.key))
      const known = verifier.look(hash, question)
      return known === null ? verifier.ask(hash, question, options) : Promise.resolve(known)
    },
    now: (question) => verifier.look(sha256(String(question.key)), question),
    get state() {
      return verifier.state()
    },
    get counters() {
      return verifier.counters()
    },
    close: () => verifier.close(),
  }
}

const moment = () => ({ mono: performance.now(), wall: Date.now() })

class InProcessVerifier {
  readonly #transport: Transport
  readonly #askPlainly: Verify
  readonly #machine: Machine
  readonly #asking = newAsking()
  readonly #reporting: ReturnType<typeof newReporting>
  readonly #following: ReturnType<typeof newFollowing>
  readonly #counters = { asked: 0, refused: 0, failed: 0 }
  #lastAsked = Number.NEGATIVE_INFINITY
  /** Since the last look at the clock: an answer from memory takes note of no more. */
  #wasAsked = false
  #plainUntil = Number.NEGATIVE_INFINITY
  #isClosed = false
  #isAwake = false

  constructor(transport: Transport, askPlainly: Verify) {
    this.#transport = transport
    this.#askPlainly = askPlainly
    this.#machine = newMachine(Math.random, transport.storeId)
    this.#reporting = newReporting(transport, this.#machine.memory)
    this.#following = newFollowing(
      transport,
      this.#machine,
      moment,
      () => this.#isWanted(),
      (error) => this.#refused(error),
    )
  }

  /** In the question's tick, from memory; what is due for renewal is also asked for. */
  look(hash: string, question: Question): Verdict | null {
    const { memory } = this.#machine
    this.#wasAsked = true
    if (!this.#isAwake) this.#wake()
    const verdict = answer(this.#machine, hash, question, performance.now(), Date.now())
    if (memory.isRenewalDue) {
      memory.isRenewalDue = false
      this.#asking.take(hash, undefined, () => this.#lease(hash, { ...question })).catch(() => {})
    }
    return verdict
  }

  async ask(hash: string, question: Question, options?: ReadOptions): Promise<Verdict> {
    const { prefix, memory } = this.#machine
    if (this.#isClosed) throw new StorekeeperError('closed', 'This verifier was closed.')
    if (prefix !== null && isMalformed(prefix, question.key)) {
      this.#counters.refused += 1
      return NOT_FOUND
    }
    const shared = memory.spending.has(hash) ? undefined : this.#asking.underWay.get(hash)
    if (shared !== undefined) {
      await shared
      const { mono, wall } = moment()
      const known = answer(this.#machine, hash, question, mono, wall)
      if (known) return known
    }
    try {
      return await this.#asking.take(hash, options?.timeout, () => this.#lease(hash, question, options))
    } catch (error) {
      this.#counters.failed += 1
      throw unavailable(error)
    }
  }

  state(): Verifier['state'] {
    return this.#isClosed || performance.now() < this.#plainUntil ? 'off' : stateOf(this.#machine, moment())
  }

  counters(): Verifier['counters'] {
    const { memory, counters } = this.#machine
    return {
      ...this.#counters,
      ...memory.counters,
      ...counters,
      ...this.#reporting.counters,
      kept: memory.entries.size,
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#following.stop()
    await this.#reporting.close()
    forget(this.#machine)
  }

  #isWanted(): boolean {
    this.#noteAsked()
    return !this.#isClosed && performance.now() - Math.max(this.#lastAsked, this.#plainUntil - IDLE_MS) < IDLE_MS
  }

  #noteAsked(): void {
    if (this.#wasAsked) this.#lastAsked = performance.now()
    this.#wasAsked = false
  }

  #wake(): void {
    if (this.#isClosed || this.#isAwake) return
    this.#isAwake = true
    if (performance.now() >= this.#plainUntil) this.#following.start()
    const timer = setInterval(() => {
      this.#noteAsked()
      this.#following.look()
      this.#reporting.look()
      if (this.#isClosed || (performance.now() - this.#lastAsked > IDLE_MS && !this.#reporting.isBusy())) {
        clearInterval(timer)
        this.#isAwake = false
      }
    }, TICK_MS)
    unref(timer)
  }

  /** An answer that says more than that this request failed. */
  #refused({ status }: StorekeeperError): void {
    if (status === 401 || status === 403) forget(this.#machine)
    if (status !== 404) return
    if (this.#plainUntil < 0)
      warn('Storekeeper: the service is too old to verify keys in this process, and is asked each time.')
    this.#plainUntil = performance.now() + PLAIN_MS
  }

  async #lease(hash: string, question: Question, options?: ReadOptions): Promise<Verdict> {
    this.#counters.asked += 1
    const asked = moment()
    if (asked.mono < this.#plainUntil) return this.#askPlainly(question, options)
    try {
      const body = inStore(question, this.#transport.storeId)
      const given = { timeout: 2_000, ...options, body }
      const { lease, ...verdict } = await this.#transport.request<Leased>('POST', '/v1/keys/lease', given)
      onAnswer(this.#machine, hash, question, freeze(verdict) as Verdict, lease, asked, moment())
      return verdict as Verdict
    } catch (error) {
      if (error instanceof StorekeeperError) this.#refused(error)
      if (performance.now() < this.#plainUntil) return this.#askPlainly(question, options)
      throw error
    }
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
