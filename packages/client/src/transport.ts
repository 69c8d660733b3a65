// What a verifier is, and what it needs of its client.

import type { Verdict, Verification } from './api.gen.ts'
import type { ReadOptions, RequestOptions } from './options.ts'

export interface Verifier {
  /** The verdict. Throws a StorekeeperError only when none could be had: then let nobody in. */
  verify(question: Verification, options?: ReadOptions): Promise<Verdict>
  /** The verdict in the same tick, or null when the service has to be asked. */
  now(question: Verification): Verdict | null
  /**
   * `covered`: keys that are known are verified here. `asking`: the service is asked for each. `silent`: the service does
   * not answer. `off`: verifying in this process was not wanted, or has ended.
   */
  readonly state: 'covered' | 'asking' | 'silent' | 'off'
  readonly counters: Readonly<Record<string, number>>
  close(): Promise<void>
}

/** What a verifier needs of its client. */
export interface Transport {
  request<Answer = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** A stream of server-sent events, once it is open. `timeout` is that of opening it. */
  openStream(
    path: string,
    options: { query?: object; headers?: Record<string, string>; signal?: AbortSignal; timeout?: number },
  ): Promise<Response>
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal
  /** The store of questions that name none. */
  readonly storeId: string | undefined
}
