// Who may read the metrics. They name no one, but tell how many sign up, fail and verify.

import { once } from 'node:events'
import http from 'node:http'
import ipaddr from 'ipaddr.js'
import { Failure, fail } from '../../core/errors.ts'
import type { Secret } from '../../crypto/secret.ts'
import { sha256 } from '../../crypto/tokens.ts'
import type { Metrics } from '../metrics.ts'
import type { Rendered } from './layout.ts'

export type MetricsAccess = { port: number | null; token: Secret | null }

/** What a page may know of its request. */
export type PageRequest = {
  headers: http.IncomingHttpHeaders
  socketAddress: string | undefined
  query: URLSearchParams
}

/** Whatever a proxy or a content delivery network adds: then the socket is not the caller's. */
const FORWARDING = [
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'forwarded',
  'true-client-ip',
  'via',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-original-forwarded-for',
  'x-real-ip',
]

/** On the main port: with the token; without one only for this machine, and not at all beside a port of its own. */
export async function metricsPage(
  metrics: Pick<Metrics, 'read'>,
  access: MetricsAccess,
  { headers, socketAddress }: PageRequest,
): Promise<Rendered> {
  if (access.port !== null) return fail('not_found')
  if (access.token !== null) checkToken(access.token, headers.authorization)
  else if (!isLoopback(socketAddress) || FORWARDING.some((name) => name in headers)) fail('not_found')
  return render(metrics)
}

function checkToken(token: Secret, authorization = ''): void {
  const [scheme, given = ''] = authorization.split(' ')
  // Hashes are compared, so that the time taken tells nothing about the token.
  if (scheme?.toLowerCase() !== 'bearer' || sha256(given).compare(sha256(token.reveal())) !== 0) fail('unauthenticated')
}

function isLoopback(address = ''): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

async function render(metrics: Pick<Metrics, 'read'>): Promise<Rendered> {
  const { type, text } = await metrics.read()
  return { status: 200, headers: { 'content-type': type }, body: text }
}

/** The port of its own: `GET /metrics` and nothing else. */
export function newMetricsServer(metrics: Pick<Metrics, 'read'>, { port, token }: MetricsAccess, host: string) {
  const server = http.createServer({ requestTimeout: 10_000, maxHeaderSize: 16_384 }, async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return response.writeHead(404).end()
    try {
      if (token) checkToken(token, request.headers.authorization)
      const { headers, body } = await render(metrics)
      return response.writeHead(200, headers).end(body)
    } catch (error) {
      const isRefused = error instanceof Failure
      return response.writeHead(isRefused ? 401 : 500, isRefused ? { 'www-authenticate': 'Bearer' } : {}).end()
    }
  })
  return {
    listen: async () => {
      if (port !== null) await once(server.listen(port, host), 'listening')
    },
    close: async () => {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
    },
  }
}
