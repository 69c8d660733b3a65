// Who waits for their turn, such as the queues of webhooks. Accounts take turns, and the queues of an account within its turns:
// whoever has two thousand webhooks is sent no more than whoever has one.

/** `account` is the one that a store counts for (auth/account.ts). */
export type OfAccount = { account: string }

export class Waitlist<Q extends OfAccount> {
  /** Accounts and their queues, in the order of their turns. */
  readonly #queues = new Map<string, Set<Q>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  sizeOf(account: string): number {
    return this.#queues.get(account)?.size ?? 0
  }

  accounts(): Iterable<string> {
    return this.#queues.keys()
  }

  add(queue: Q): void {
    const queues = this.#queues.get(queue.account) ?? new Set()
    this.#size += queues.has(queue) ? 0 : 1
    this.#queues.set(queue.account, queues.add(queue))
  }

  remove(queue: Q): void {
    const queues = this.#queues.get(queue.account)
    if (!queues?.delete(queue)) return
    this.#size -= 1
    if (queues.size === 0) this.#queues.delete(queue.account)
  }

  newestOf(account: string): Q | undefined {
    return [...(this.#queues.get(account) ?? [])].at(-1)
  }

  /** The account whose turn it is. */
  next(): string | undefined {
    return this.#queues.keys().next().value
  }

  /** The next queue of this account, which is last among the accounts then. */
  take(account: string): Q | undefined {
    const queues = this.#queues.get(account)
    if (!queues) return undefined
    const [queue] = queues as Set<Q> & Iterable<Q>
    queues.delete(queue as Q)
    this.#size -= 1
    this.#queues.delete(account)
    if (queues.size > 0) this.#queues.set(account, queues)
    return queue
  }
}
