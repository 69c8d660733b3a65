// What every page shows of something it reads: loading, failed, forbidden, or the thing itself.

import { Skeleton, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Read } from '../app/api.ts'
import { texts } from '../texts.ts'
import { Problem } from './problem.tsx'

type Props<T> = {
  query: Read<T>
  /** In the form of what is coming, so that nothing jumps when it is there. */
  skeleton?: ReactNode
  children: (data: T) => ReactNode
}

export function Loaded<T>({ query, skeleton, children }: Props<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Problem error={query.error} retry={() => query.refetch()} />
  return (
    <div aria-busy="true" aria-label={texts.app.loading} role="status">
      {skeleton ?? (
        <Stack>
          <Skeleton height={36} width="40%" />
          <Skeleton height={160} />
        </Stack>
      )}
    </div>
  )
}
