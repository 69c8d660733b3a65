// What was read from the service, kept by its key for as long as somebody shows it and a while longer. Two components that
// read the same share one request; a write tells which keys it has changed, and what is shown of them is read again.

import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'

/** The first part names what is read, so that a write can say what it changes: `['keys', storeId]`. */
export type ReadKey = readonly (string | number | boolean | null | undefined | object)[]
type Reader = (signal: AbortSignal) => Promise<unknown>
type State = { data: unknown; error: Error | null; isFetching: boolean }

export type Read<T> = {
  /** Undefined until it was read for the first time. */
  data: T | undefined
  error: Error | null
  isPending: boolean
  isFetching: boolean
  refetch: () => Promise<void>
}

/** Younger than this it is not read again when another component asks for it. */
const FRESH_MS = 5_000
/** How long it is kept when nobody shows it. */
const KEPT_MS = 5 * 60_000
const NOTHING: State = { data: undefined, error: null, isFetching: false }

class Entry {
  state = NOTHING
  readAt = 0
  reader: Reader | null = null
  readonly listeners = new Set<() => void>()
  #running: { promise: Promise<void>; controller: AbortController } | null = null
  #expiry: ReturnType<typeof setTimeout> | undefined

  readonly key: ReadKey

  constructor(key: ReadKey) {
    this.key = key
  }

  set(state: State): void {
    this.state = state
    for (const listener of this.listeners) listener()
  }

  /** What runs already is waited for. */
  fetch(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running.promise
  }

  #run() {
    const controller = new AbortController()
    const reader = this.reader as Reader
    const settle = (state: Partial<State>) => {
      if (this.#running?.controller !== controller) return
      this.#running = null
      this.set({ ...this.state, ...state, isFetching: false })
    }
    this.set({ ...this.state, isFetching: true })
    const promise = reader(controller.signal).then(
      (data) => {
        this.readAt = Date.now()
        settle({ data, error: null })
      },
      (error) => settle({ error }),
    )
    return { promise, controller }
  }

  /** Reads it again if that is due, or begins what was cut off. */
  refresh(): void {
    if (this.reader && Date.now() - this.readAt > FRESH_MS) void this.fetch()
  }

  /** What runs would bring an answer from before a change. */
  stop(): void {
    this.#running?.controller.abort()
    this.#running = null
  }

  subscribe(listener: () => void): () => void {
    clearTimeout(this.#expiry)
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size > 0) return
      this.stop()
      this.#expiry = setTimeout(() => entries.delete(nameOf(this.key)), KEPT_MS)
    }
  }
}

const entries = new Map<string, Entry>()
const nameOf = (key: ReadKey) => JSON.stringify(key)

function entryOf(key: ReadKey): Entry {
  const name = nameOf(key)
  const entry = entries.get(name) ?? new Entry(key)
  entries.set(name, entry)
  return entry
}

function below(key: ReadKey): Entry[] {
  const wanted = key.map((part) => JSON.stringify(part))
  return [...entries.values()].filter((entry) => wanted.every((part, n) => JSON.stringify(entry.key[n]) === part))
}

addEventListener('focus', () => {
  for (const entry of entries.values()) if (entry.listeners.size > 0) entry.refresh()
})

export const queryClient = {
  getQueryData: <T>(key: ReadKey) => entries.get(nameOf(key))?.state.data as T | undefined,
  setQueryData(key: ReadKey, data: unknown): void {
    const entry = entryOf(key)
    entry.stop()
    entry.readAt = Date.now()
    entry.set({ data, error: null, isFetching: false })
  },
  /** What is shown is read again at once, unless `refetchType` is `none`; the rest when it is shown. */
  async invalidateQueries({
    queryKey = [],
    refetchType = 'active',
  }: {
    queryKey?: ReadKey
    refetchType?: 'active' | 'none'
  } = {}): Promise<void> {
    await Promise.all(
      below(queryKey).map((entry) => {
        entry.stop()
        entry.readAt = 0
        const isRead = refetchType === 'active' && entry.listeners.size > 0 && entry.reader
        return isRead ? entry.fetch() : undefined
      }),
    )
  },
  removeQueries({ queryKey }: { queryKey: ReadKey }): void {
    for (const entry of below(queryKey)) {
      entry.stop()
      entry.readAt = 0
      entry.set(NOTHING)
    }
  },
  clear: () => queryClient.removeQueries({ queryKey: [] }),
}

export type ReadOptions = { enabled?: boolean; refetchInterval?: number }

export function useQuery<T>(key: ReadKey, reader: Reader, { enabled = true, refetchInterval }: ReadOptions): Read<T> {
  const name = nameOf(key)
  // The name stands for the key, which is another object each time.
  const entry = useMemo(() => entryOf(key), [name])
  const subscribe = useCallback((listener: () => void) => entry.subscribe(listener), [entry])
  const state = useSyncExternalStore(subscribe, () => entry.state)
  useEffect(() => {
    // The newest one: it may close over what changed since.
    if (enabled) entry.reader = reader
  })
  useEffect(() => {
    if (enabled) entry.refresh()
  }, [entry, enabled])
  useEffect(() => {
    if (!enabled || refetchInterval === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden) void entry.fetch()
    }, refetchInterval)
    return () => clearInterval(timer)
  }, [entry, enabled, refetchInterval])
  return {
    ...state,
    data: state.data as T | undefined,
    isPending: state.data === undefined && state.error === null,
    refetch: () => entry.fetch(),
  }
}

type Writing<Input, T> = {
  isPending: boolean
  isSuccess: boolean
  error: Error | null
  data: T | undefined
  /** Of the last write. */
  variables: Input | undefined
}

export function useMutation<Input, T>(write: (input: Input) => Promise<T>) {
  const idle: Writing<Input, T> = {
    isPending: false,
    isSuccess: false,
    error: null,
    data: undefined,
    variables: undefined,
  }
  const [state, setState] = useState(idle)
  const mutateAsync = async (input: Input): Promise<T> => {
    setState({ ...idle, isPending: true, variables: input })
    try {
      const data = await write(input)
      setState({ ...idle, isSuccess: true, data, variables: input })
      return data
    } catch (error) {
      setState({ ...idle, error: error as Error, variables: input })
      throw error
    }
  }
  const mutate = (input: Input, { onSuccess }: { onSuccess?: (data: T) => void } = {}) =>
    void mutateAsync(input).then(onSuccess, () => {})
  return { ...state, mutate, mutateAsync, reset: () => setState(idle) }
}
