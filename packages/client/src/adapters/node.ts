// Headers of Node's requests, for the frameworks that stand on it.

import type { IncomingMessage } from 'node:http'

/** Of two headers `Authorization` Node keeps the first: here both are seen. */
export function headerOf({ headers, rawHeaders = [] }: IncomingMessage, name: string): string | undefined {
  const values = rawHeaders.filter((_, n) => n % 2 === 1 && rawHeaders[n - 1]?.toLowerCase() === name)
  return values.length > 1 ? values.join(', ') : [headers[name] ?? []].flat().join(', ')
}
