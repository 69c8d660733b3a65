// Every call of the pages behind the sign-in goes through `useRead` and `useWrite`.

import { type CallOptions, isStorekeeperError } from '@storekeeper/client'
import { type QueryKey, type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { withSession } from './client.ts'
import { queryClient } from './query.ts'

/** The first part names what is read, so that a write can say what it changes: `['keys', storeId]`. */
export type ReadKey = QueryKey
export type Read<T> = Pick<UseQueryResult<T>, 'data' | 'error' | 'isPending' | 'isFetching' | 'refetch'>

export function useRead<T>(
  queryKey: ReadKey,
  read: (options: CallOptions) => Promise<T>,
  options: { enabled?: boolean; refetchInterval?: number } = {},
): Read<T> {
  return useQuery<T>({ queryKey, queryFn: ({ signal }) => withSession(() => read({ signal })), ...options })
}

/**
 * `changes` names what has to be read again, `ends` what of it only on the page that somebody goes to next: the record on
 * this one is gone. While an answer is missing, the same input is sent with the same
 * `Idempotency-Key`, however often somebody clicks: it is done once.
 */
export function useWrite<Input, T>(
  write: (input: Input, options: CallOptions & { idempotencyKey: string }) => Promise<T>,
  { changes = [], ends = [] }: { changes?: ReadKey[]; ends?: ReadKey[] } = {},
) {
  const unanswered = useRef<{ input: string; idempotencyKey: string } | null>(null)
  const mutation = useMutation({
    mutationFn: async (input: Input) => {
      const text = JSON.stringify(input) ?? ''
      if (unanswered.current?.input !== text) unanswered.current = { input: text, idempotencyKey: crypto.randomUUID() }
      const { idempotencyKey } = unanswered.current
      try {
        const answer = await withSession(() => write(input, { idempotencyKey }))
        unanswered.current = null
        for (const queryKey of ends) void queryClient.invalidateQueries({ queryKey, refetchType: 'none' })
        await Promise.all(changes.map((queryKey) => queryClient.invalidateQueries({ queryKey })))
        return answer
      } catch (error) {
        if (isRefusal(error)) unanswered.current = null
        throw error
      }
    },
  })
  // `onSuccess` of the library is not called when what was changed has taken the component from the page.
  const mutate = (input: Input, { onSuccess }: { onSuccess?: (answer: T) => void } = {}) =>
    void mutation.mutateAsync(input).then(onSuccess, () => {})
  return { ...mutation, mutate }
}

/** The service has said no: nothing was done. Without it something may have been. */
function isRefusal(error: unknown): boolean {
  const { status = 0 } = isStorekeeperError(error) ? error : {}
  return status >= 400 && status < 500
}
