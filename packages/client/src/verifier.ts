// Verifying keys: by asking each time, or in this process, for which the code is loaded when it is first wanted.

import type { Transport, Verifier } from './transport.ts'

type Verify = Verifier['verify']

export function askingVerifier(verify: Verify): Verifier {
  return { verify, now: () => null, state: 'off', counters: {}, close: async () => {} }
}

export function inProcessVerifier(transport: Transport, verify: Verify): Verifier {
  let loaded: Verifier | undefined
  const loading = import('./verify/index.ts').then(({ inProcessVerifier }) => {
    loaded = inProcessVerifier(transport, verify)
    return loaded
  })
  // Whoever verifies hears of it.
  loading.catch(() => {})
  return {
    verify: (question, options) =>
      loaded ? loaded.verify(question, options) : loading.then((it) => it.verify(question, options)),
    now: (question) => loaded?.now(question) ?? null,
    get state() {
      return loaded?.state ?? 'asking'
    },
    get counters() {
      return loaded?.counters ?? {}
    },
    close: () =>
      loading.then(
        (it) => it.close(),
        () => {},
      ),
  }
}
