// Whether the caller may: the row's `needs` against what the caller is and holds, and the ids of the path.

import { type Caller, heldPermissions } from '../core/caller.ts'
import { type ErrorCode, type Fault, fail, failInput } from '../core/errors.ts'
import { checkHolds, isOwner } from '../core/grant.ts'
import { type IdKind, isId } from '../core/ids.ts'
import { BUILT_IN_PERMISSIONS, type BuiltInPermission } from '../core/permissions.ts'
import type { Needs, Route } from '../core/route.ts'
import type { Verifier } from '../keys/schema.ts'
import type { Call } from './context.ts'

export function authorize(
  verifier: Pick<Verifier, 'countOwnUse'>,
  { needs }: Route,
  caller: Caller | null,
  params: Record<string, string>,
): void {
  if (needs === 'public' || needs === 'caller' || !caller) return
  if (needs === 'service' || needs === 'key') {
    if (caller.kind !== needs) fail(needs === 'key' ? 'key_required' : 'service_required')
    return
  }
  if (needs === 'user' || needs === 'store user' || needs === 'owner') {
    // A key of another store hears of this one what it hears on every path of it: nothing.
    if (needs === 'owner' && caller.kind !== 'user' && !isInStore(caller, params.storeId)) fail('store_not_found')
    if (caller.kind !== 'user') fail('user_required')
    if (needs !== 'user' && !caller.member) fail('store_not_found')
    if (needs === 'owner' && !isOwner(caller))
      fail('insufficient_permission', { required: ['OWNER'], detail: 'Only an owner of the store can do this.' })
    return
  }
  checkPermission(verifier, needs, caller, params.storeId)
}

/** A store that the caller has no part in is answered like one that does not exist. */
function checkPermission(
  verifier: Pick<Verifier, 'countOwnUse'>,
  needed: BuiltInPermission,
  caller: Caller,
  storeId: string | undefined,
): void {
  if (caller.kind === 'service') return fail('store_not_found')
  if (!isInStore(caller, storeId)) fail('store_not_found')
  const holds = heldPermissions(caller).includes(needed)
  if (!holds && caller.kind === 'key') verifier.countOwnUse(caller, 'INSUFFICIENT_PERMISSIONS', [])
  checkHolds(caller, needed)
}

function isInStore(caller: Caller, storeId: string | undefined): boolean {
  if (caller.kind === 'service') return false
  return caller.kind === 'key' ? caller.storeId === storeId : caller.member !== null
}

/** Whether what the caller is in the store decides, and so is looked at again, under lock, before a change is written. */
export function needsRights(needs: Needs): boolean {
  return needs === 'owner' || isPermission(needs)
}

function isPermission(needs: Needs): needs is BuiltInPermission {
  return BUILT_IN_PERMISSIONS.some((permission) => permission === needs)
}

/** A request made with an API key counts as a use of the key, and of the permission that the route needs. */
export function countKeyUse(verifier: Pick<Verifier, 'countOwnUse'>, { needs }: Route, caller: Caller | null): void {
  if (caller?.kind === 'key') verifier.countOwnUse(caller, 'VALID', isPermission(needs) ? [needs] : [])
}

const IDS: Record<string, { kind: IdKind; missing: ErrorCode }> = {
  storeId: { kind: 'store', missing: 'store_not_found' },
  keyId: { kind: 'key', missing: 'key_not_found' },
  addressId: { kind: 'addr', missing: 'address_not_found' },
  userId: { kind: 'user', missing: 'member_not_found' },
  invitationId: { kind: 'inv', missing: 'invitation_not_found' },
  sessionId: { kind: 'sess', missing: 'session_not_found' },
  webhookId: { kind: 'wh', missing: 'webhook_not_found' },
  deliveryId: { kind: 'dlv', missing: 'delivery_not_found' },
  passkeyId: { kind: 'passkey', missing: 'passkey_not_found' },
  eventId: { kind: 'evt', missing: 'event_not_found' },
  serviceTokenId: { kind: 'svc', missing: 'service_token_not_found' },
}

/** Parameters of paths that are no ids: their handlers check them. */
const OTHER_PARAMS = ['code', 'n', 'externalId', 'owner']

/** A malformed id is answered exactly like one that does not exist: after the faults of the input. */
export function checkIds({ route, incoming }: Call, faults: Fault[]): void {
  for (const [name, value] of Object.entries(incoming.params)) {
    if (OTHER_PARAMS.includes(name)) continue
    const id = IDS[name]
    if (!id) throw new Error(`${route.path} has a parameter ${name} that nobody declared`)
    if (!isId(id.kind, value)) return faults.length > 0 ? failInput(faults) : fail(id.missing)
  }
}
