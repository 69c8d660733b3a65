// What the docs say of a route, made from its row: for the OpenAPI document and for the pages.

import type { ErrorCode } from '../core/errors.ts'
import { BUILT_IN_PERMISSIONS, type BuiltInPermission } from '../core/permissions.ts'
import { isChange, type Route } from '../core/route.ts'

export const TAGS = [
  ['Accounts', 'Signing up, signing in, sessions.'],
  ['Stores', 'Stores, their members, and invitations.'],
  ['Keys', 'API keys of a store.'],
  ['Billing', 'Billing addresses of a store user.'],
  ['Customers', 'Customers whom a store keeps by ids of its own, and their billing addresses.'],
  ['Events', 'What happened in a store: the audit trail, live, and sealed.'],
  ['Webhooks', 'What happens in a store, sent to a URL.'],
  ['Countries', 'The address rules of every country.'],
] as const

export function tagOf(route: Route): string {
  if (/\/(keys?|leaks|oauth)\b/.test(route.path)) return 'Keys'
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

export function accessText({ needs, signedBy }: Route): string {
  if (signedBy === 'github') return 'Only GitHub may call this: its signature says so.'
  switch (needs) {
    case 'public':
      return 'Anyone may call this.'
    case 'user':
      return 'Any signed-in user may call this.'
    case 'store user':
      return 'Any user with a part in the store may call this, customers included.'
    case 'owner':
      return 'Only an owner of the store may call this, in person.'
    case 'key':
      return 'Only an API key may call this.'
    case 'service':
      return 'Only a service may call this, with the token that the operator issued.'
    case 'caller':
      return 'Any signed-in user, any API key and any service may call this; no permission is needed.'
    default:
      return `Needs the permission \`${needs}\` in the store.`
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
