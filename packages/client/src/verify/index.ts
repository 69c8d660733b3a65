// Verifying in the back end's own process.

import type { Transport, Verifier } from '../transport.ts'
import { newVerifier } from './verifier.ts'

/** `ask` verifies by asking the service: so does everything where this process cannot hash in the same tick. */
export function inProcessVerifier(transport: Transport, ask: Verifier['verify']): Verifier {
  const sha256 = findSha256()
  if (sha256) return newVerifier(transport, ask, sha256)
  return { verify: ask, now: () => null, state: 'off', counters: {}, close: async () => {} }
}

/** Of Node, Bun and Deno: other runtimes hash only asynchronously. */
function findSha256(): ((text: string) => string) | null {
  const { hash, createHash } = globalThis.process?.getBuiltinModule?.('node:crypto') ?? {}
  if (hash) return (text) => hash('sha256', text, 'binary')
  return createHash ? (text) => createHash('sha256').update(text).digest('binary') : null
}
