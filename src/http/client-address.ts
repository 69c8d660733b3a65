// The client's own address, where a proxy that is trusted told it.

import type { IncomingMessage } from 'node:http'
import proxyAddr from '@fastify/proxy-addr'
import { inHex, networkOf, withoutPort } from '../auth/ip.ts'

export type TrustProxy = false | number | string[]

/** Whether the address, so many steps before this node, is that of a proxy. A connection that was reset has none. */
export type IsProxy = (address: string | undefined, step: number) => boolean

/** Null when there is none. A number says how many proxies stand in front: the address before them is the client's. */
export function newIsProxy(trustProxy: TrustProxy): IsProxy | null {
  if (trustProxy === false) return null
  if (typeof trustProxy === 'number') return (_address, step) => step < trustProxy
  const isListed = proxyAddr.compile(trustProxy)
  return (address, step) => isListed(inHex(address ?? ''), step)
}

/**
 * What limits by address count by, as they do for Fastify's `request.ip`, before there is a request of Fastify. A connection
 * that was reset before it was accepted has no address.
 */
export function placeOfClient(request: IncomingMessage, isProxy: IsProxy): string {
  const address: string | undefined = proxyAddr(request, isProxy)
  return networkOf(withoutPort(address ?? '')).place
}
