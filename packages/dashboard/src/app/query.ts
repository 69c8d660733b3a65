// What was read from the service, kept by its key. The ways in load nothing of it.

import { QueryClient } from '@tanstack/react-query'
import { onUserChange } from './session.ts'
import { hasUnsaved } from './unsaved.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      /** Younger than this it is not read again when another component asks for it. */
      staleTime: 5_000,
      // The client repeats what may be repeated, and says when the service cannot be reached.
      retry: false,
      networkMode: 'always',
      // The client knows the ETag of the very object that it returned: no copy may take its place.
      structuralSharing: false,
      refetchOnWindowFocus: () => !hasUnsaved(),
    },
    mutations: { networkMode: 'always' },
  },
})

/** What somebody typed is kept under this key for as long as the page is open: it cannot be read again. */
export const TYPED = 'typed'
queryClient.setQueryDefaults([TYPED], { gcTime: Number.POSITIVE_INFINITY })

onUserChange(() => queryClient.clear())
