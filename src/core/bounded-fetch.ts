// Requests to services that are not ours, such as an identity provider: each is over in time, its answer is read whole and has
// a size, and redirects are not followed.

export type FetchBounds = { timeoutMs: number; maxBytes: number }

/**
 * Fails with a `TimeoutError` when the answer is not whole in time. That is not left to the signal alone: with
 * `redirect: 'error'`, fetch of Node.js 20 and 22 forgets the signal at the next garbage collection, and waits for a body that
 * never ends for good.
 */
export async function boundedFetch(url: string, init: RequestInit, bounds: FetchBounds): Promise<Response> {
  const ending = new AbortController()
  const { signal } = ending
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  const giveUp = () => ending.abort(new DOMException('The answer took too long', 'TimeoutError'))
  const timer = setTimeout(giveUp, bounds.timeoutMs)
  try {
    return await Promise.race([fetchWhole(url, { ...init, signal }, bounds.maxBytes), late])
  } finally {
    clearTimeout(timer)
  }
}

async function fetchWhole(url: string, init: RequestInit, maxBytes: number): Promise<Response> {
  const { status, headers, body } = await fetch(url, { ...init, redirect: 'manual' })
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Node's streams can be iterated; the type of the browsers' does not say so.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) throw new Error('The answer is too large')
    chunks.push(chunk)
  }
  return new Response(bytes > 0 ? Buffer.concat(chunks) : null, { status, headers })
}
