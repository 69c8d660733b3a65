// Which route a path belongs to, where the framework's router cannot tell: 404 or 405, methods that a path with
// parameters would take over, and the priority under load.

import type { IncomingMessage } from 'node:http'
import { Failure } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import { LEASE_PATH } from '../keys/in-process/schema.ts'
import { VERIFY_PATH } from '../keys/schema.ts'
import type { Priority } from '../limits/load-shedding.ts'

type MethodAndPath<Method = string> = { method: Method; path: string }

/** Taken apart once: each is compared with every other, or with each path that is refused. */
function toPattern<Method>({ method, path }: MethodAndPath<Method>) {
  return { method, parts: path.split('/'), params: path.split('/:').length - 1 }
}

/** 405 with the methods that a path does have, 404 when it has none. */
export function newNotFoundOr405(endpoints: MethodAndPath[]): (path: string) => Failure {
  const patterns = endpoints.map(toPattern)
  const mostParts = Math.max(...patterns.map(({ parts }) => parts.length))
  return (path) => {
    // Anybody may ask for a path of 15,000 slashes: one part more than there can be says enough.
    const given = path.split('/', mostParts + 1)
    const matching = patterns.filter(({ parts }) => partsMatch(parts, given))
    // "/keys/grantable" matches "/keys/:keyId" too: the pattern with the fewest parameters is meant.
    const fewest = Math.min(...matching.map(({ params }) => params))
    const methods = matching.filter(({ params }) => params === fewest).map(({ method }) => method)
    if (methods.length === 0) return new Failure('not_found')
    const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
    return new Failure('method_not_allowed', { allow })
  }
}

/**
 * "PATCH /keys/grantable" would otherwise be routed to "PATCH /keys/:keyId", as a change of the key "grantable". An
 * `:externalId` is any text a store chooses: its customer "import" is reached beside "POST /customers/import".
 */
export function shadowedMethods(routes: Route[]): { method: Route['method']; url: string }[] {
  const exists = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  const patterns = routes.map(toPattern<Route['method']>)
  const shadowed = routes.flatMap(({ path: url }, i) => {
    const { parts, params } = patterns[i] as (typeof patterns)[number]
    return patterns
      .filter((pattern) => pattern.params > params && partsMatch(pattern.parts, parts))
      .filter((pattern) => pattern.parts.every((part, n) => part !== ':externalId' || part === parts[n]))
      .map(({ method }) => ({ method, url }))
  })
  return shadowed.filter(({ method, url }) => {
    const name = `${method} ${url}`
    return !exists.has(name) && exists.add(name)
  })
}

function partsMatch(wanted: string[], given: string[]): boolean {
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => part === given[i] || (part.startsWith(':') && given[i] !== ''))
  )
}

const PRIORITIES = new Map<string, Priority>([
  ['/livez', 'always'],
  ['/readyz', 'always'],
  ['/metrics', 'always'],
  [VERIFY_PATH, 'high'],
  [LEASE_PATH, 'high'],
])

/** How late a request is shed when the node is overloaded. */
export function priorityOf(path: string): Priority {
  return PRIORITIES.get(path) ?? 'normal'
}

/** What a person has typed or followed: a client of the API asks for JSON, or for anything. */
export function isBrowser({ method, headers: { accept = '' } }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(accept) && !/json/i.test(accept)
}
