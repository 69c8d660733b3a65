// What a caller may say about one call.

export interface ReadOptions {
  /** Ends the call: it throws a StorekeeperError with the code `aborted`. */
  signal?: AbortSignal | undefined
  /** Milliseconds for the whole call, all tries and the waits between them: 10,000 unless said, of a verification 2,000. */
  timeout?: number | undefined
  /** How often the call is repeated when its answer did not come, or says that it may come later: 2 unless said. */
  retries?: number | undefined
}

export interface KeyedOptions extends ReadOptions {
  /**
   * Names this request, so that it is done once however often it is sent. Each call has one of its own unless you give it:
   * give the `idempotencyKey` of an error to ask again for the answer that was lost, within the hour if it has a secret.
   */
  idempotencyKey?: string | undefined
}

export interface GuardedOptions extends ReadOptions {
  /** Change it only if nobody else has: the record you read, or its ETag (see `etagOf`). Else `precondition_failed`. */
  ifMatch?: string | object | undefined
}

export interface CallOptions extends KeyedOptions, GuardedOptions {}

export interface RequestOptions extends CallOptions {
  query?: object | undefined
  /** Sent as JSON. */
  body?: unknown
}

export interface ClientOptions {
  /** Where the service is: `https://keys.example.com`. */
  url: string | URL
  /**
   * A service token, an API key, a session or an access token; or a function that gives the one to use now. What is public,
   * such as signing in, needs none.
   */
  token?: string | (() => string | Promise<string>) | undefined
  /** The store of `sk.store()` without an id, and of verifications that name none. */
  storeId?: string | undefined
  /** Whether `sk.verifier()` and the adapters verify in this process, where they can. */
  inProcess?: boolean | undefined
  /** Milliseconds for each call, unless the call says otherwise: 10,000, and 2,000 for a verification. */
  timeout?: number | undefined
  /** How often a call is repeated, unless the call says otherwise: 2. */
  retries?: number | undefined
  /** Instead of the global `fetch`. */
  fetch?: typeof fetch | undefined
}
