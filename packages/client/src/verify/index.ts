// Verifying keys in the back end's own process.

import type { Transport, Verifier } from '../transport.ts'

export function inProcessVerifier(_transport: Transport, verify: Verifier['verify']): Verifier {
  return { verify, now: () => null, state: 'asking', counters: {}, close: async () => {} }
}
