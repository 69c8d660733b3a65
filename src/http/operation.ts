// What the docs say of a route, made from its row: for the OpenAPI document and for the pages.

import type { ErrorCode } from '../core/errors.ts'
import { BUILT_IN_PERMISSIONS, type BuiltInPermission } from '../core/permissions.ts'
import { isChange, type Route } from '../core/route.ts'

export const TAGS = [
  ['Accounts', 'Sign-up, sign-in and sessions.'],
  ['Stores', 'Stores, their members, and invitations.'],
  ['Keys', 'API keys of a store.'],
  ['Billing', 'Billing addresses of the users of a store.'],
  ['Customers', 'Customers that a store manages under its own ids, and their billing addresses.'],
  ['Events', 'What happened in a store: an audit trail to list, to follow live and to verify.'],
  ['Webhooks', 'Events of a store, sent to a URL.'],
  ['Countries', 'The address rules of every country.'],
] as const

export function tagOf(route: Route): string {
  if (/\/(keys?|owners|leaks|oauth)\b/.test(route.path)) return 'Keys'
  if (/\/customers/.test(route.path)) return 'Customers'
  if (/\/billing/.test(route.path)) return 'Billing'
  if (/\/events/.test(route.path)) return 'Events'
  if (/\/webhooks/.test(route.path)) return 'Webhooks'
  if (/\/countries/.test(route.path)) return 'Countries'
  return /store|invitations/.test(route.path) ? 'Stores' : 'Accounts'
}

export function takesIdempotencyKey(route: Route): boolean {
  return route.method === 'POST' && route.needs !== 'public' && isChange(route)
}

/** Where a user can be the caller. (A public route minds it too, for a user who is signed in.) */
export function takesExpectedUser({ needs }: Route): boolean {
  return needs !== 'public' && needs !== 'key' && needs !== 'service'
}

export function accessText(route: Route): string {
  const { readableWith: rule } = route
  if (!rule) return accessOf(route)
  const named = rule.identifiedBy.map((name) => `\`${name}\``).join(', ')
  const record = rule.in ? `\`${rule.in}\`` : 'the response'
  return `${accessOf(route)} Without \`${rule.permission}\`, ${record} has only ${named} and the fields you sent.`
}

function accessOf({ needs, signedBy }: Route): string {
  if (signedBy === 'github') return 'For GitHub only: the request must carry its signature.'
  switch (needs) {
    case 'public':
      return 'No credentials are needed.'
    case 'user':
      return 'For any signed-in user.'
    case 'store user':
      return 'For any member of the store, customers included.'
    case 'owner':
      return 'For owners of the store, signed in themselves; not for API keys.'
    case 'key':
      return 'For API keys only.'
    case 'service':
      return 'For back ends with a service token.'
    case 'caller':
      return 'For any signed-in user, API key or service token; no permission is needed.'
    default:
      return `Requires the permission \`${needs}\` in the store.`
  }
}

/** The errors a route can answer with: its own, and those of every route of its kind. */
export function errorsOf(route: Route): ErrorCode[] {
  const { needs } = route
  const inStore = BUILT_IN_PERMISSIONS.includes(needs as BuiltInPermission)
  const codes: ErrorCode[] = [
    ...(needs === 'public' ? [] : (['unauthenticated', 'invalid_token'] as const)),
    'invalid_request',
    ...(needs === 'public' ? [] : (['forbidden_ip', 'forbidden_origin'] as const)),
    ...(needs === 'user' || needs === 'store user' || needs === 'owner' ? (['user_required'] as const) : []),
    ...(needs === 'key' || needs === 'service' ? ([`${needs}_required`] as const) : []),
    ...(takesExpectedUser(route) ? (['signed_in_as_another'] as const) : []),
    ...(inStore || needs === 'store user' || needs === 'owner' ? (['store_not_found'] as const) : []),
    ...(inStore || needs === 'owner' ? (['insufficient_permission'] as const) : []),
    ...(inStore && isChange(route) ? (['replaced_secret'] as const) : []),
    ...(route.body
      ? ([route.form ? 'invalid_form' : 'invalid_json', 'unsupported_media_type', 'body_too_large'] as const)
      : []),
    ...(route.query && 'cursor' in route.query.properties ? (['invalid_cursor'] as const) : []),
    'invalid_input',
    ...(takesIdempotencyKey(route)
      ? (['invalid_idempotency_key', 'idempotency_in_progress', 'idempotency_mismatch'] as const)
      : []),
    ...(route.errors ?? []),
    'rate_limited',
    'internal_error',
    'unavailable',
    'overloaded',
  ]
  return [...new Set(codes)]
}
