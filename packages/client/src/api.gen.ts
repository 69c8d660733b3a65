// Written by `npm run generate` from the rows of the routes. Do not change it by hand.

import type { List } from './list.ts'
import type { CallOptions, GuardedOptions, KeyedOptions, ReadOptions } from './options.ts'

export const VERSION = '0.1.0'

/** What stands in a key after the prefix, one for each type. */
export const KEY_KINDS = ['prod', 'test', 'dev']

/** The permissions that every service has. */
export const BUILT_IN_PERMISSIONS = [
  'READ',
  'WRITE',
  'MANAGE_PRODUCTS',
  'MANAGE_ORDERS',
  'MANAGE_KEYS',
  'MANAGE_MEMBERS',
  'MANAGE_CUSTOMERS',
  'MANAGE_WEBHOOKS',
  'MANAGE_STORE',
  'VIEW_EVENTS',
]

/** Each method: how it is sent, where to, and what is particular about it (see request.ts and client.ts). */
export const OPERATIONS: Record<string, string> = {
  'keys.create': 'POST /v1/user/store/:storeId/keys bk',
  'keys.import': 'POST /v1/user/store/:storeId/keys/import bk',
  'keys.list': 'GET /v1/user/store/:storeId/keys qspo',
  'keys.grantable': 'GET /v1/user/store/:storeId/keys/grantable s',
  'keys.read': 'GET /v1/user/store/:storeId/keys/:keyId s',
  'keys.update': 'PATCH /v1/user/store/:storeId/keys/:keyId b',
  'keys.changeCredits': 'POST /v1/user/store/:storeId/keys/:keyId/credits bk',
  'keys.rotate': 'POST /v1/user/store/:storeId/keys/:keyId/rotate bko',
  'keys.revoke': 'DELETE /v1/user/store/:storeId/keys/:keyId qo',
  'keys.bulk': 'POST /v1/user/store/:storeId/keys/bulk bk',
  'keys.freeze': 'POST /v1/user/store/:storeId/keys/freeze k',
  'keys.unfreeze': 'POST /v1/user/store/:storeId/keys/unfreeze k',
  'keys.storeUsage': 'GET /v1/user/store/:storeId/keys/usage qspo',
  'keys.usage': 'GET /v1/user/store/:storeId/keys/:keyId/usage qso',
  'owners.usage': 'GET /v1/user/store/:storeId/owners/:owner/usage qso',
  'keys.advice': 'GET /v1/user/store/:storeId/keys/:keyId/advice s',
  'keys.verify': 'POST /v1/keys/verify bsv',
  'keys.introspect': 'POST /v1/oauth/introspect bfsv',
  'leaks.report': 'POST /v1/leaks b',
  'keys.self': 'GET /v1/key s',
  'keys.lease': 'POST /v1/keys/lease bsv',
  'keys.reportUsage': 'POST /v1/keys/usage bsv',
  'addresses.create': 'POST /v1/store/:storeId/billing bk',
  'addresses.validate': 'POST /v1/store/:storeId/billing/validate bs',
  'addresses.validateAnonymously': 'POST /v1/addresses/validate bs',
  'addresses.list': 'GET /v1/store/:storeId/billing qspo',
  'addresses.read': 'GET /v1/store/:storeId/billing/:addressId s',
  'addresses.update': 'PATCH /v1/store/:storeId/billing/:addressId b',
  'addresses.delete': 'DELETE /v1/store/:storeId/billing/:addressId',
  'addresses.versions': 'GET /v1/store/:storeId/billing/:addressId/versions qspo',
  'addresses.readVersion': 'GET /v1/store/:storeId/billing/:addressId/versions/:n s',
  'invoicing.list': 'GET /v1/user/store/:storeId/billing qsp',
  'invoicing.read': 'GET /v1/user/store/:storeId/billing/:addressId qso',
  'invoicing.versions': 'GET /v1/user/store/:storeId/billing/:addressId/versions qspo',
  'invoicing.readVersion': 'GET /v1/user/store/:storeId/billing/:addressId/versions/:n s',
  'invoicing.hold': 'POST /v1/user/store/:storeId/billing/:addressId/versions/:n/hold bk',
  'invoicing.release': 'DELETE /v1/user/store/:storeId/billing/:addressId/versions/:n/hold',
  'customers.list': 'GET /v1/user/store/:storeId/customers qspo',
  'customers.import': 'POST /v1/user/store/:storeId/customers/import bk',
  'customers.put': 'PUT /v1/user/store/:storeId/customers/:externalId bso',
  'customers.read': 'GET /v1/user/store/:storeId/customers/:externalId s',
  'customers.erase': 'DELETE /v1/user/store/:storeId/customers/:externalId qo',
  'customers.export': 'GET /v1/user/store/:storeId/customers/:externalId/export s',
  'customers.addresses.create': 'POST /v1/user/store/:storeId/customers/:externalId/billing bk',
  'customers.addresses.validate': 'POST /v1/user/store/:storeId/customers/:externalId/billing/validate bs',
  'customers.addresses.list': 'GET /v1/user/store/:storeId/customers/:externalId/billing qspo',
  'customers.addresses.read': 'GET /v1/user/store/:storeId/customers/:externalId/billing/:addressId s',
  'customers.addresses.update': 'PATCH /v1/user/store/:storeId/customers/:externalId/billing/:addressId b',
  'customers.addresses.delete': 'DELETE /v1/user/store/:storeId/customers/:externalId/billing/:addressId',
  'customers.addresses.versions': 'GET /v1/user/store/:storeId/customers/:externalId/billing/:addressId/versions qspo',
  'customers.addresses.readVersion':
    'GET /v1/user/store/:storeId/customers/:externalId/billing/:addressId/versions/:n s',
  'countries.list': 'GET /v1/countries s',
  'countries.read': 'GET /v1/countries/:code s',
  'stores.create': 'POST /v1/user/store bk',
  'stores.list': 'GET /v1/user/store qspo',
  'stores.read': 'GET /v1/user/store/:storeId s',
  'stores.update': 'PATCH /v1/user/store/:storeId b',
  'stores.delete': 'DELETE /v1/user/store/:storeId',
  'stores.restore': 'POST /v1/user/store/:storeId/restore k',
  'members.list': 'GET /v1/user/store/:storeId/members qspo',
  'members.read': 'GET /v1/user/store/:storeId/members/:userId s',
  'members.update': 'PATCH /v1/user/store/:storeId/members/:userId bq keys,webhooks',
  'members.remove': 'DELETE /v1/user/store/:storeId/members/:userId qo',
  'invitations.create': 'POST /v1/user/store/:storeId/invitations bk',
  'invitations.list': 'GET /v1/user/store/:storeId/invitations qspo',
  'invitations.read': 'GET /v1/user/store/:storeId/invitations/:invitationId s',
  'invitations.withdraw': 'DELETE /v1/user/store/:storeId/invitations/:invitationId',
  'invitations.preview': 'POST /v1/auth/invitation bs',
  'invitations.accept': 'POST /v1/user/invitations/accept bk',
  'stores.join': 'POST /v1/store/:storeId/join k',
  'stores.leave': 'POST /v1/store/:storeId/leave qko',
  'serviceTokens.create': 'POST /v1/user/store/:storeId/service-tokens bk',
  'serviceTokens.list': 'GET /v1/user/store/:storeId/service-tokens qspo',
  'serviceTokens.read': 'GET /v1/user/store/:storeId/service-tokens/:serviceTokenId s',
  'serviceTokens.revoke': 'DELETE /v1/user/store/:storeId/service-tokens/:serviceTokenId',
  'events.list': 'GET /v1/user/store/:storeId/events qspo',
  'events.read': 'GET /v1/user/store/:storeId/events/:eventId s',
  'events.head': 'GET /v1/user/store/:storeId/events/head s',
  'webhooks.create': 'POST /v1/user/store/:storeId/webhooks bk',
  'webhooks.list': 'GET /v1/user/store/:storeId/webhooks qspo',
  'webhooks.read': 'GET /v1/user/store/:storeId/webhooks/:webhookId s',
  'webhooks.update': 'PATCH /v1/user/store/:storeId/webhooks/:webhookId b',
  'webhooks.delete': 'DELETE /v1/user/store/:storeId/webhooks/:webhookId',
  'webhooks.rotate': 'POST /v1/user/store/:storeId/webhooks/:webhookId/rotate bko',
  'webhooks.test': 'POST /v1/user/store/:storeId/webhooks/:webhookId/test k',
  'webhooks.redeliver': 'POST /v1/user/store/:storeId/webhooks/:webhookId/redeliver bk',
  'deliveries.list': 'GET /v1/user/store/:storeId/webhooks/:webhookId/deliveries qspo',
  'deliveries.read': 'GET /v1/user/store/:storeId/webhooks/:webhookId/deliveries/:deliveryId s',
  'deliveries.redeliver': 'POST /v1/user/store/:storeId/webhooks/:webhookId/deliveries/:deliveryId/redeliver k',
  'auth.signUp': 'POST /v1/auth/sign-up b',
  'auth.signIn': 'POST /v1/auth/sign-in b',
  'auth.requestReset': 'POST /v1/auth/reset b',
  'auth.reset': 'POST /v1/auth/reset/confirm b',
  'auth.confirm': 'POST /v1/auth/confirm b',
  'auth.signOut': 'POST /v1/auth/sign-out k',
  'user.read': 'GET /v1/user s',
  'user.update': 'PATCH /v1/user b',
  'user.erase': 'DELETE /v1/user qo',
  'user.export': 'GET /v1/user/export s',
  'sessions.list': 'GET /v1/user/sessions qspo',
  'sessions.endOthers': 'DELETE /v1/user/sessions',
  'sessions.end': 'DELETE /v1/user/sessions/:sessionId',
  'user.changePassword': 'POST /v1/user/password bk',
  'auth.secondFactor': 'POST /v1/auth/second-factor b',
  'auth.passkeyOptions': 'POST /v1/auth/passkey/options s',
  'auth.passkey': 'POST /v1/auth/passkey b',
  'totp.create': 'POST /v1/user/totp k',
  'totp.confirm': 'POST /v1/user/totp/confirm bk',
  'totp.delete': 'DELETE /v1/user/totp',
  'recoveryCodes.replace': 'POST /v1/user/recovery-codes k',
  'passkeys.list': 'GET /v1/user/passkeys qspo',
  'passkeys.options': 'POST /v1/user/passkeys/options s',
  'passkeys.create': 'POST /v1/user/passkeys bk',
  'passkeys.delete': 'DELETE /v1/user/passkeys/:passkeyId',
  'settings.read': 'GET /v1/settings s',
  'permissions.list': 'GET /v1/permissions s',
}

/** The codes of the service's errors, for ever; newer services may have more. */
export type ServiceErrorCode =
  /** 400: Malformed HTTP request. */
  | 'bad_request'
  /** 400: Ambiguous credentials. */
  | 'invalid_request'
  /** 400: Sign-in not completed. */
  | 'sign_in_incomplete'
  /** 400: Invalid JSON. */
  | 'invalid_json'
  /** 400: Invalid form. */
  | 'invalid_form'
  /** 400: Invalid cursor. */
  | 'invalid_cursor'
  /** 400: Invalid Idempotency-Key. */
  | 'invalid_idempotency_key'
  /** 401: Missing credentials. */
  | 'unauthenticated'
  /** 401: Invalid credentials. */
  | 'invalid_token'
  /** 401: Wrong e-mail or password. */
  | 'invalid_credentials'
  /** 401: Second factor required. */
  | 'second_factor_required'
  /** 401: Wrong code. */
  | 'invalid_code'
  /** 401: Passkey not accepted. */
  | 'invalid_passkey'
  /** 401: Sign-in expired. */
  | 'invalid_challenge'
  /** 403: Sign-in required. */
  | 'sign_in_required'
  /** 403: Recent sign-in required. */
  | 'recent_sign_in_required'
  /** 403: Missing permission. */
  | 'insufficient_permission'
  /** 403: You can't grant a permission you don't have. */
  | 'cannot_grant'
  /** 403: This secret was replaced. */
  | 'replaced_secret'
  /** 403: A key can't change itself. */
  | 'own_key'
  /** 403: That member has permissions you don't have. */
  | 'outranked'
  /** 403: Users only. */
  | 'user_required'
  /** 403: Services only. */
  | 'service_required'
  /** 403: API keys only. */
  | 'key_required'
  /** 403: IP address not allowed. */
  | 'forbidden_ip'
  /** 403: Origin not allowed. */
  | 'forbidden_origin'
  /** 403: Invalid signature. */
  | 'invalid_signature'
  /** 403: Sign-in refused. */
  | 'sign_in_refused'
  /** 403: Sign-up is by invitation only. */
  | 'sign_up_closed'
  /** 403: This invitation is for somebody else. */
  | 'invitation_mismatch'
  /** 404: Not found. */
  | 'not_found'
  /** 404: Store not found. */
  | 'store_not_found'
  /** 404: Service token not found. */
  | 'service_token_not_found'
  /** 404: Event not found. */
  | 'event_not_found'
  /** 404: Key not found. */
  | 'key_not_found'
  /** 404: Address not found. */
  | 'address_not_found'
  /** 404: Version not found. */
  | 'version_not_found'
  /** 404: Hold not found. */
  | 'hold_not_found'
  /** 404: Member not found. */
  | 'member_not_found'
  /** 404: Customer not found. */
  | 'customer_not_found'
  /** 404: Country not found. */
  | 'country_not_found'
  /** 404: Invitation not found. */
  | 'invitation_not_found'
  /** 404: Reset link not found. */
  | 'reset_not_found'
  /** 404: Confirmation link not found. */
  | 'confirmation_not_found'
  /** 404: Session not found. */
  | 'session_not_found'
  /** 404: Passkey not found. */
  | 'passkey_not_found'
  /** 404: Second factor not found. */
  | 'second_factor_not_found'
  /** 404: Webhook not found. */
  | 'webhook_not_found'
  /** 404: Delivery not found. */
  | 'delivery_not_found'
  /** 405: Method not allowed. */
  | 'method_not_allowed'
  /** 408: Request timeout. */
  | 'request_timeout'
  /** 409: Limit reached. */
  | 'limit_exceeded'
  /** 409: Signed in as somebody else. */
  | 'signed_in_as_another'
  /** 409: Key revoked. */
  | 'key_revoked'
  /** 409: Key expired. */
  | 'key_expired'
  /** 409: Key has no credits. */
  | 'no_credits'
  /** 409: Rotation conflict. */
  | 'rotation_conflict'
  /** 409: Webhook disabled. */
  | 'webhook_disabled'
  /** 409: A store needs at least one owner. */
  | 'last_owner'
  /** 409: E-mail already in use. */
  | 'email_taken'
  /** 409: This account has no password. */
  | 'no_password'
  /** 409: Already a member. */
  | 'already_member'
  /** 409: The version was erased. */
  | 'version_erased'
  /** 409: Already linked. */
  | 'already_linked'
  /** 409: Request still in progress. */
  | 'idempotency_in_progress'
  /** 409: Secret no longer available. */
  | 'secret_no_longer_available'
  /** 409: Response no longer available. */
  | 'response_no_longer_available'
  /** 412: Precondition failed. */
  | 'precondition_failed'
  /** 413: Body too large. */
  | 'body_too_large'
  /** 414: URL too long. */
  | 'uri_too_long'
  /** 415: Unsupported media type. */
  | 'unsupported_media_type'
  /** 422: Invalid input. */
  | 'invalid_input'
  /** 422: Idempotency-Key already used. */
  | 'idempotency_mismatch'
  /** 429: Too many requests. */
  | 'rate_limited'
  /** 431: Headers too large. */
  | 'headers_too_large'
  /** 500: Internal error. */
  | 'internal_error'
  /** 503: Service unavailable. */
  | 'unavailable'
  /** 503: Service overloaded. */
  | 'overloaded'

/** What errors of some codes say beside what all say. */
export interface ErrorDetails {
  insufficient_permission: {
    /** With `insufficient_permission`: the permission you need. */
    required: string[]
  }
  cannot_grant: {
    /** With `cannot_grant`: the permissions you do not have. */
    permissions: string[]
  }
  secret_no_longer_available: {
    /**
     * With `secret_no_longer_available`: what the first request created. With `response_no_longer_available`: the
     * key it was about.
     */
    resource: {
      /** Its id. */
      id?: string
    }
  }
  second_factor_required: {
    /** With `second_factor_required`: what the second step needs. It works once. */
    challenge: string
    /** With `second_factor_required`: until when the challenge works. */
    expiresAt: string
    /** With `second_factor_required`: what the account has. */
    methods: Array<'totp' | 'passkey' | 'recovery_code' | (string & {})>
    /**
     * With `second_factor_required` and a passkey: WebAuthn's `PublicKeyCredentialRequestOptionsJSON` for this
     * challenge.
     */
    passkey?: Record<string, unknown>
  }
}

/** One thing that is wrong with the input. */
export interface Fault {
  /** Which field or parameter: `#/name` in the body, `?limit` in the query. */
  pointer: string
  /** A stable code for programs. */
  code: string
  /** What is wrong with it. */
  detail: string
  /** A valid value. */
  example?: string
  /** What may have been meant: a field, a value, or the code of a state or a country. */
  suggestion?: string
}

/** The events of a store, by type: the members of `data`. */
export interface EventData {
  /**
   * A user was erased. `keys` says what happened to the keys they created, and `role` is the role they had in the
   * store. Sent to every store that has data of theirs.
   */
  'user.erased': { keys: string; role?: string }
  /**
   * A service token was issued, by an owner for their store or by the operator. `storeIds: null` means all
   * stores.
   */
  'service_token.created': { name: string; storeIds: string[] | null }
  /** A service token was revoked. */
  'service_token.revoked': Record<string, never>
  /** The store was created. */
  'store.created': { name: string; registration: string; leakGraceSeconds: number | null }
  /** The store was changed. */
  'store.updated': { from: Record<string, unknown>; to: Record<string, unknown> }
  /** The store was deleted. */
  'store.deleted': Record<string, never>
  /** A deleted store was restored. */
  'store.restored': Record<string, never>
  /** All keys of the store were frozen. */
  'store.frozen': Record<string, never>
  /** The keys of the store were unfrozen. */
  'store.unfrozen': Record<string, never>
  /** A user joined the store, with an invitation or as a customer. */
  'member.joined': { role: string; permissions: string[]; invitation?: string }
  /** The role or permissions of a member were changed. */
  'member.updated': { from: Record<string, unknown>; to: Record<string, unknown> }
  /** A member was removed. `keys` says what happened to the keys they created. */
  'member.removed': { role: string; keys: string }
  /** A member left the store. */
  'member.left': { role: string }
  /** An invitation was created. */
  'member.invited': { role: string; permissions: string[] }
  /** An invitation was withdrawn. */
  'member.invitation_withdrawn': Record<string, never>
  /** A key was created or imported. */
  'key.created': {
    name: string
    type: string
    permissions: string[]
    expiresAt: string | null
    ipAllowlist: Key['ipAllowlist']
    rateLimit: Key['rateLimit']
    rateLimits: Key['rateLimits']
    credits: Key['credits']
    imported: boolean
  }
  /**
   * A key was changed. `from` and `to` contain the fields that differ. Metadata and the owner are not included,
   * only that they changed.
   */
  'key.updated': {
    from: Record<string, unknown>
    to: Record<string, unknown>
    metadataChanged?: boolean
    ownerChanged?: boolean
  }
  /** A key was enabled. */
  'key.enabled': Record<string, never>
  /** A key was disabled. */
  'key.disabled': Record<string, never>
  /** A key got a new secret. The previous one keeps working until `previousExpiresAt`, unless that is `null`. */
  'key.rotated': { gracePeriodSeconds: number; previousExpiresAt: string | null }
  /** Somebody set the credits of a key, or added some. Spending them is not an event. */
  'key.credits_changed': { from: number; to: number }
  /** A key was revoked. */
  'key.revoked': { reason: string | null }
  /** The secret of a key was reported as leaked. `action` says what happened to the key. */
  'key.leaked': { source: string; url?: string; action: string; expiresAt?: string | null }
  /** A key expires in 30, 7 or 1 days. */
  'key.expiring': { expiresAt: string | null; days: number }
  /** A customer was created. `linked` says whether it is a user with an account of their own. */
  'customer.created': { linked: boolean }
  /** The details of a customer were changed. `changed` lists the fields. */
  'customer.updated': { changed: string[] }
  /**
   * A customer was erased. A `linked` customer is only unlinked and keeps their account: also when they leave,
   * are removed or get another role.
   */
  'customer.erased': { linked: boolean }
  /** A billing address was created. */
  'address.created': { country: string }
  /** An address was changed. `changed` lists the fields. `newDefault` is the address that became the default. */
  'address.updated': { changed: string[]; newDefault?: string }
  /** An address was deleted. `newDefault` is the address that became the default instead. */
  'address.deleted': { newDefault?: string }
  /** A version of an address was put on hold, or its hold was replaced. */
  'address.held': { version: number; until: string }
  /** A hold on a version was removed, or expired (then the actor is `system`). */
  'address.released': { version: number }
  /** A webhook was created. Only the host of its URL is included. */
  'webhook.created': { host: string; types: string[]; description: string | null }
  /** A webhook was changed. */
  'webhook.updated': { from: Record<string, unknown>; to: Record<string, unknown>; urlChanged?: boolean }
  /** A webhook got a new secret. The previous one also signs until `previousExpiresAt`, unless that is `null`. */
  'webhook.rotated': { gracePeriodSeconds: number; previousExpiresAt: string | null }
  /** A webhook was disabled. `reason` is `REQUESTED`, `GONE` (it responded with 410) or `FAILING` (for 5 days). */
  'webhook.disabled': { reason: string | null; failingSince?: string }
  /** A webhook was deleted. */
  'webhook.deleted': { host: string; types: string[]; description: string | null }
}

/** The operations that are not about one store. */
export interface Api {
  keys: {
    /**
     * Verify a key. For your back ends: is this key valid, and is it allowed to do this? **Always name the store**:
     * send `storeId`, unless your service token is bound to a single store. Otherwise you would accept a key that
     * anyone created in a store of their own. The status is 200 whether or not the key is valid, so read `valid` or
     * `code`. `NOT_FOUND` reveals nothing else about the key. With `explain`, the response explains every check,
     * and the call counts towards no rate limit and no usage.
     *
     * For back ends with a service token. Errors: `response_no_longer_available`.
     *
     * `POST /v1/keys/verify`
     */
    verify(input: Verification, options?: KeyedOptions): Promise<Verdict>
    /**
     * Introspect a key. Verification as OAuth 2.0 token introspection (RFC 7662): the body is a form, and a key
     * that is not valid, for any reason, returns `{"active": false}`. In addition to `token` you can send `scope`,
     * `types`, `ip` and `store_id`. A service token for a single store needs no `store_id`, so that gateways with
     * plain RFC 7662 support can use it.
     *
     * For back ends with a service token. Errors: `response_no_longer_available`.
     *
     * `POST /v1/oauth/introspect`
     */
    introspect(input: Introspection, options?: KeyedOptions): Promise<Introspected>
    /**
     * Read the key I am using. The record of the API key that makes the request, and which of its secrets was used:
     * during a rotation, two of them work.
     *
     * For API keys only.
     *
     * `GET /v1/key`
     */
    self(options?: ReadOptions): Promise<OwnKey>
    /**
     * Verify a key, to keep the verdict. Verification for a back end that keeps verdicts in its own memory, while
     * it follows the changes of keys. The request is that of `POST /v1/keys/verify`, and so is the verdict; it
     * counts as a use of the key. `lease` says how long ago the verdict was certainly true, and for how long the
     * key lasts. It is `null`, and the verdict must not be kept, unless the key is `VALID` and has no rate limit,
     * no named limits and no credits. The verdict on an imported key can be kept only with a service token for a
     * single store.
     *
     * For back ends with a service token. Errors: `response_no_longer_available`.
     *
     * `POST /v1/keys/lease`
     */
    lease(input: Verification, options?: KeyedOptions): Promise<LeasedVerdict>
    /**
     * Report uses of keys. What a back end counted that verifies in its own process. Each process chooses a random
     * `reporter` when it starts, numbers its reports with `seq`, and has one report under way at a time. The
     * response comes when the counts are written. If there is none, send the same report again under the same
     * number, for up to a day: it counts once. A number that is not larger than the last is not counted, and gets
     * the same response. Keys that do not belong to the stores of your service token are passed over, like those
     * that do not exist. All tokens of the stores of one account may report 16 MiB a minute to a node: then 429,
     * and the counts of a later report can be added up. Of each token, some 5,000 processes that reported last are
     * remembered.
     *
     * For back ends with a service token.
     *
     * `POST /v1/keys/usage`
     */
    reportUsage(input: UsageReport, options?: KeyedOptions): Promise<ReportAccepted>
  }
  leaks: {
    /**
     * Report a leaked key. For anyone who finds a key where it should not be. `TEST` and `DEV` keys are revoked
     * immediately, `PROD` keys immediately or after the grace period their store has chosen, and the store gets an
     * event. The response is the same whether or not there is such a key.
     *
     * No credentials are needed.
     *
     * `POST /v1/leaks`
     */
    report(input: LeakReport, options?: ReadOptions): Promise<LeakAccepted>
  }
  addresses: {
    /**
     * Validate an address without a store. Runs the same checks as in a store, without a store or a customer.
     * Nothing is stored.
     *
     * For any signed-in user, API key or service token; no permission is needed.
     *
     * `POST /v1/addresses/validate`
     */
    validateAnonymously(input: NewAddress, options?: ReadOptions): Promise<CheckedAddress>
  }
  countries: {
    /**
     * List the countries. All countries in one response, ordered by their English names.
     *
     * No credentials are needed.
     *
     * `GET /v1/countries`
     */
    list(options?: ReadOptions): Promise<Countries>
    /**
     * Read the address rules of a country. The same rules that addresses are validated with: the fields in the
     * order the country writes them, their labels, which of them are required, and the states to choose from.
     *
     * No credentials are needed. Errors: `country_not_found`.
     *
     * `GET /v1/countries/:code`
     */
    read(code: string, options?: ReadOptions): Promise<Country>
  }
  stores: {
    /**
     * Create a store. You become its owner.
     *
     * For any signed-in user. Errors: `limit_exceeded`, `response_no_longer_available`.
     *
     * `POST /v1/user/store`
     */
    create(input: NewStore, options?: KeyedOptions): Promise<Store>
    /**
     * List my stores. Newest first. With `deleted=true`, you get the stores you own that were deleted in the last
     * 30 days.
     *
     * For any signed-in user.
     *
     * `GET /v1/user/store`
     */
    list(query?: StoresListQuery, options?: ReadOptions): List<Stores['data'][number], Stores>
    /**
     * Read a store. Send the `ETag` as `If-Match` when you change the store, so that you overwrite nobody else's
     * change.
     *
     * Requires the permission `READ` in the store.
     *
     * `GET /v1/user/store/:storeId`
     */
    read(storeId: string, options?: ReadOptions): Promise<Store>
    /**
     * Change a store. Fields that are left out keep their value. A key can shorten `leakGraceSeconds`, but not
     * lengthen it.
     *
     * Requires the permission `MANAGE_STORE` in the store. Without `READ`, the response has only `id` and the
     * fields you sent. Errors: `precondition_failed`, `cannot_grant`.
     *
     * `PATCH /v1/user/store/:storeId`
     */
    update(storeId: string, input: StoreChanges, options?: GuardedOptions): Promise<Store>
    /**
     * Delete a store. Its keys stop working. An owner can restore the store for 30 days; then its data is deleted
     * permanently. Requires a sign-in within the last 10 minutes.
     *
     * For owners of the store, signed in themselves; not for API keys. Errors: `recent_sign_in_required`,
     * `precondition_failed`.
     *
     * `DELETE /v1/user/store/:storeId`
     */
    delete(storeId: string, options?: GuardedOptions): Promise<void>
    /**
     * Restore a deleted store. Within 30 days of its deletion, an owner can restore a store with its members, keys,
     * webhooks and addresses. Requires a sign-in within the last 10 minutes. Webhook messages that were still
     * waiting an hour after the deletion are not sent.
     *
     * For any signed-in user. Errors: `store_not_found`, `recent_sign_in_required`, `limit_exceeded`,
     * `response_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/restore`
     */
    restore(storeId: string, options?: KeyedOptions): Promise<Store>
    /**
     * Join a store. Makes you a customer of a store whose `registration` is `OPEN`. Any other store looks as if it
     * did not exist.
     *
     * For any signed-in user. Errors: `store_not_found`, `already_member`, `response_no_longer_available`.
     *
     * `POST /v1/store/:storeId/join`
     */
    join(storeId: string, options?: KeyedOptions): Promise<Membership>
    /**
     * Leave a store. Ends your membership and withdraws the invitations you sent. Keys and webhooks you created or
     * rotated keep working unless you say otherwise; the response lists them. The last owner cannot leave.
     *
     * For any member of the store, customers included. Errors: `last_owner`.
     *
     * `POST /v1/store/:storeId/leave`
     */
    leave(storeId: string, query?: StoresLeaveQuery, options?: KeyedOptions): Promise<Made>
  }
  invitations: {
    /**
     * Read an invitation by its token. Tells the holder of the token which store and role the invitation is for,
     * before they sign in or sign up. It changes nothing, and does not say who was invited or by whom. A token that
     * cannot be accepted any more gets the same 404 as one that never existed.
     *
     * No credentials are needed. Errors: `invitation_not_found`.
     *
     * `POST /v1/auth/invitation`
     */
    preview(input: Acceptance, options?: ReadOptions): Promise<InvitationPreview>
    /**
     * Accept an invitation. An invitation can be accepted once, by the user with the invited e-mail address. A
     * customer who accepts an invitation to a higher role gets that role.
     *
     * For any signed-in user. Errors: `invitation_not_found`, `invitation_mismatch`, `already_member`,
     * `response_no_longer_available`.
     *
     * `POST /v1/user/invitations/accept`
     */
    accept(input: Acceptance, options?: KeyedOptions): Promise<Membership>
  }
  auth: {
    /**
     * Sign up. Creates an account and signs you in. Send the session token as `Authorization: Bearer …`.
     *
     * No credentials are needed. Errors: `email_taken`, `sign_up_closed`, `invitation_mismatch`.
     *
     * `POST /v1/auth/sign-up`
     */
    signUp(input: SignUp, options?: ReadOptions): Promise<SignedIn>
    /**
     * Sign in. An unknown e-mail address and a wrong password get the same response. After 10 failures within 15
     * minutes, for the account or from the IP address, further attempts get 429. Places the account has signed in
     * from before are counted separately. If the account has a second factor, a correct password gets 401
     * `second_factor_required` with a `challenge` for `POST /v1/auth/second-factor`. Beyond `MAX_SESSIONS_PER_USER`
     * sessions, a new one ends the one that was idle longest.
     *
     * No credentials are needed. Errors: `invalid_credentials`, `second_factor_required`.
     *
     * `POST /v1/auth/sign-in`
     */
    signIn(input: SignIn, options?: ReadOptions): Promise<SignedIn>
    /**
     * Request a password reset. Sends a reset link to this e-mail address, if an account has it. The response is
     * the same for every address. After 10 requests within 15 minutes, for the e-mail address or from the IP
     * address, further requests get 429. Beyond 50 mails a day from one network, nothing is sent. If the service
     * does not send mail, nothing is sent: ask the operator for a link.
     *
     * No credentials are needed.
     *
     * `POST /v1/auth/reset`
     */
    requestReset(input: ResetRequest, options?: ReadOptions): Promise<void>
    /**
     * Set a new password with a reset link. Takes the token of a reset link, from an e-mail or from the operator. A
     * token works once, within an hour, and only the newest one is valid. All sessions of the user end, and their
     * open invitations are withdrawn. The second factor does not change, unless nobody who was signed in to the
     * account has confirmed its e-mail address: then it is removed, since whoever set it up never proved that the
     * address was theirs.
     *
     * No credentials are needed. Errors: `reset_not_found`.
     *
     * `POST /v1/auth/reset/confirm`
     */
    reset(input: Reset, options?: ReadOptions): Promise<void>
    /**
     * Confirm an e-mail address. Takes the token of the link that is sent after signing up or changing the e-mail
     * address. A token works once, within three days, and only the newest one is valid. If another account has the
     * address but never confirmed it, that account loses it. If the address differs from the one your account has,
     * other accounts want it too, or you are signed in to another account, send the request with a session of the
     * account the link was sent for: 403 `sign_in_required` otherwise, and the token stays valid.
     *
     * No credentials are needed. Errors: `confirmation_not_found`, `email_taken`, `sign_in_required`.
     *
     * `POST /v1/auth/confirm`
     */
    confirm(input: Confirmation, options?: ReadOptions): Promise<void>
    /**
     * Sign out. Ends the session this request is made with. Invitations sent from it stay open.
     *
     * For any signed-in user.
     *
     * `POST /v1/auth/sign-out`
     */
    signOut(options?: KeyedOptions): Promise<void>
    /**
     * Complete a sign-in with a second factor. Takes the `challenge` from the response to the password, and either
     * a `code` (from the authenticator app, or a recovery code) or the `credential` of a passkey that signed the
     * options in `passkey`. A challenge works once, within 5 minutes; a code works once. After 10 wrong codes
     * within 15 minutes, for the account or from the IP address, further attempts get 429. Places the account has
     * signed in from before are counted separately.
     *
     * No credentials are needed. Errors: `invalid_challenge`, `invalid_code`, `invalid_passkey`.
     *
     * `POST /v1/auth/second-factor`
     */
    secondFactor(input: SecondFactor, options?: ReadOptions): Promise<SignedIn>
    /**
     * Start a sign-in with a passkey. Returns the options to pass to the authenticator, in WebAuthn's own JSON.
     * They name no user: the authenticator offers the passkeys it has for this service.
     *
     * No credentials are needed.
     *
     * `POST /v1/auth/passkey/options`
     */
    passkeyOptions(options?: ReadOptions): Promise<PasskeyRequestOptions>
    /**
     * Sign in with a passkey. Takes the authenticator's response to the options. A passkey verifies its user (by
     * fingerprint, face or PIN), so it counts as both factors: no password and no code are needed. The options work
     * once, within 5 minutes.
     *
     * No credentials are needed. Errors: `invalid_passkey`, `invalid_challenge`.
     *
     * `POST /v1/auth/passkey`
     */
    passkey(input: PasskeySignIn, options?: ReadOptions): Promise<SignedIn>
  }
  user: {
    /**
     * Read my account. Your account, and the stores you are a member of, with your role and permissions in each
     * (the newest 100).
     *
     * For any signed-in user.
     *
     * `GET /v1/user`
     */
    read(options?: ReadOptions): Promise<Me>
    /**
     * Change my account. Changes your name, e-mail address and mail preferences. Fields that are left out keep
     * their value. A new e-mail address requires `currentPassword`. If the service sends mail, the new address is
     * `pendingEmail` until you confirm it with the link sent to it; sending the current address again sends another
     * link, unless you confirmed it while you were signed in. `mail` selects which e-mails you get; mails about a
     * changed password, e-mail address or second factor are always sent.
     *
     * For any signed-in user. Errors: `invalid_credentials`, `email_taken`.
     *
     * `PATCH /v1/user`
     */
    update(input: UserChanges, options?: ReadOptions): Promise<User>
    /**
     * Erase my account. This cannot be undone. E-mail, name, password, second factor, sessions and memberships are
     * deleted, invitations to your e-mail address are withdrawn if you confirmed it while you were signed in, and
     * the key your addresses are encrypted under is destroyed. Of an address, only country, state and postal code
     * are left for invoices. A version that a store has put on hold stays readable for that store until the hold
     * ends: `held` lists these with the reason. Requires a sign-in within the last 10 minutes. The last owner of a
     * store must hand it over or delete it first; `stores` names these stores. Keys and webhooks that you created
     * or rotated in your stores keep working unless you say otherwise; the response lists them.
     *
     * For any signed-in user. Errors: `recent_sign_in_required`, `last_owner`.
     *
     * `DELETE /v1/user`
     */
    erase(query?: UserEraseQuery, options?: ReadOptions): Promise<ErasedUser>
    /**
     * Export everything held about me. Account, sessions, passkeys, memberships, invitations, addresses in every
     * store with all versions, what you did, and what others did to your account, as one JSON file to download. The
     * file is streamed: if it ends early, request it again. At most two exports at a time per user.
     *
     * For any signed-in user.
     *
     * `GET /v1/user/export`
     */
    export(options?: ReadOptions): Promise<Export>
    /**
     * Change my password. Ends every other session, and withdraws open invitations sent from any other.
     *
     * For any signed-in user. Errors: `invalid_credentials`.
     *
     * `POST /v1/user/password`
     */
    changePassword(input: PasswordChange, options?: KeyedOptions): Promise<void>
  }
  sessions: {
    /**
     * List my sessions. Newest first. A session expires after 30 days without use, and after 90 days in any case.
     *
     * For any signed-in user.
     *
     * `GET /v1/user/sessions`
     */
    list(query?: SessionsListQuery, options?: ReadOptions): List<Sessions['data'][number], Sessions>
    /**
     * End my other sessions. Ends every session except the one this request is made with. Open invitations sent
     * from any other session, including ended ones, are withdrawn, and a change of your e-mail address that is not
     * confirmed yet is cancelled.
     *
     * For any signed-in user.
     *
     * `DELETE /v1/user/sessions`
     */
    endOthers(options?: ReadOptions): Promise<void>
    /**
     * End one session. The session stops working immediately, on every node. Open invitations sent from it are
     * withdrawn, and a change of your e-mail address that is not confirmed yet is cancelled.
     *
     * For any signed-in user. Errors: `session_not_found`.
     *
     * `DELETE /v1/user/sessions/:sessionId`
     */
    end(sessionId: string, options?: ReadOptions): Promise<void>
  }
  totp: {
    /**
     * Set up an authenticator app. Returns a new secret for the app (RFC 6238: SHA-1, 6 digits, 30 seconds) and ten
     * recovery codes, which are not shown again. They take effect when the same session confirms them, within 15
     * minutes. Requires a sign-in within the last 10 minutes.
     *
     * For any signed-in user. Errors: `recent_sign_in_required`, `no_password`.
     *
     * `POST /v1/user/totp`
     */
    create(options?: KeyedOptions): Promise<NewTotp>
    /**
     * Confirm the authenticator app. Takes a code from the app. From then on, signing in with the password also
     * requires a code. A previous app and its recovery codes stop working. If this is your first second factor, all
     * your other sessions end, and open invitations sent from them are withdrawn.
     *
     * For any signed-in user. Errors: `second_factor_not_found`.
     *
     * `POST /v1/user/totp/confirm`
     */
    confirm(input: TotpConfirmation, options?: KeyedOptions): Promise<void>
    /**
     * Remove the authenticator app. If you have no passkey, the password alone is enough to sign in again, and the
     * recovery codes are deleted. Requires a sign-in within the last 10 minutes.
     *
     * For any signed-in user. Errors: `recent_sign_in_required`, `second_factor_not_found`.
     *
     * `DELETE /v1/user/totp`
     */
    delete(options?: ReadOptions): Promise<void>
  }
  recoveryCodes: {
    /**
     * Generate new recovery codes. Returns ten new codes, which are not shown again. The previous ones stop
     * working. Requires a sign-in within the last 10 minutes.
     *
     * For any signed-in user. Errors: `recent_sign_in_required`, `second_factor_not_found`.
     *
     * `POST /v1/user/recovery-codes`
     */
    replace(options?: KeyedOptions): Promise<RecoveryCodes>
  }
  passkeys: {
    /**
     * List my passkeys. Newest first.
     *
     * For any signed-in user.
     *
     * `GET /v1/user/passkeys`
     */
    list(query?: PasskeysListQuery, options?: ReadOptions): List<Passkeys['data'][number], Passkeys>
    /**
     * Start adding a passkey. Returns the options to pass to the authenticator, in WebAuthn's own JSON. They work
     * once, within 5 minutes, for the session that requested them. Requires a sign-in within the last 10 minutes.
     *
     * For any signed-in user. Errors: `recent_sign_in_required`, `no_password`.
     *
     * `POST /v1/user/passkeys/options`
     */
    options(options?: ReadOptions): Promise<PasskeyCreationOptions>
    /**
     * Add a passkey. Takes the authenticator's response to the options. You can then sign in with just the passkey;
     * signing in with the password also requires the passkey, your app or a recovery code. If this is your first
     * second factor, the response has ten recovery codes, all your other sessions end, and open invitations sent
     * from them are withdrawn. You can have at most 20 passkeys. Requires a sign-in within the last 10 minutes.
     *
     * For any signed-in user. Errors: `recent_sign_in_required`, `no_password`, `limit_exceeded`.
     *
     * `POST /v1/user/passkeys`
     */
    create(input: NewPasskey, options?: KeyedOptions): Promise<AddedPasskey>
    /**
     * Remove a passkey. The passkey can no longer be used to sign in. Removing your last second factor also deletes
     * the recovery codes. Requires a sign-in within the last 10 minutes.
     *
     * For any signed-in user. Errors: `recent_sign_in_required`, `passkey_not_found`.
     *
     * `DELETE /v1/user/passkeys/:passkeyId`
     */
    delete(passkeyId: string, options?: ReadOptions): Promise<void>
  }
  settings: {
    /**
     * Read the settings. What a web page needs to know before anyone signs in.
     *
     * No credentials are needed.
     *
     * `GET /v1/settings`
     */
    read(options?: ReadOptions): Promise<Settings>
  }
  permissions: {
    /**
     * List the permissions. Every permission, what it allows and which roles include it, including permissions the
     * operator added.
     *
     * For any signed-in user, API key or service token; no permission is needed.
     *
     * `GET /v1/permissions`
     */
    list(options?: ReadOptions): Promise<Permissions>
  }
}

/** The operations of one store. */
export interface StoreApi {
  keys: {
    /**
     * Create an API key. The response has the full key as `key`. It is shown only once, so store it now. If the
     * response is lost, send the same request with the same `Idempotency-Key` within an hour: you get the same key,
     * not a second one. You can't grant permissions you don't have, nor create a key that is less restricted than
     * the key you use.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `cannot_grant`, `limit_exceeded`,
     * `secret_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/keys`
     */
    create(input: NewKey, options?: KeyedOptions): Promise<KeyWithSecret>
    /**
     * Import keys. Takes up to 1,000 keys that were created elsewhere, in a body of up to 2 MiB: their values, or
     * the SHA-256 of them, with the settings of a new key. Each succeeds or fails on its own. Sending the same
     * import again changes nothing: a value that the store has, or had, `exists`. Holders keep using the values
     * they have; every node finds them within 2 seconds, for verifying in this store only. An imported key can call
     * this API once it is rotated. One import at a time per store, and two per account: another one gets 429.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `POST /v1/user/store/:storeId/keys/import`
     */
    import(input: KeyImport, options?: KeyedOptions): Promise<KeyImportResults>
    /**
     * List the keys. Newest first, without their secrets.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `GET /v1/user/store/:storeId/keys`
     */
    list(query?: KeysListQuery, options?: ReadOptions): List<Keys['data'][number], Keys>
    /**
     * List what I can grant. The permissions and types that you can give to a key in this store.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `GET /v1/user/store/:storeId/keys/grantable`
     */
    grantable(options?: ReadOptions): Promise<Grantable>
    /**
     * Read a key. The record, without its secret.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `key_not_found`.
     *
     * `GET /v1/user/store/:storeId/keys/:keyId`
     */
    read(keyId: string, options?: ReadOptions): Promise<Key>
    /**
     * Change a key. Fields that are left out keep their value; `null` clears `expiresAt`, `ipAllowlist`,
     * `rateLimit`, `owner`, `credits`. `"enabled": false` disables the key until it is enabled again. You cannot
     * change a key that has more permissions than you or, when you use a key yourself, one that is less restricted.
     * An expired or revoked key cannot be revived.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `key_not_found`, `cannot_grant`, `own_key`,
     * `key_revoked`, `key_expired`, `precondition_failed`.
     *
     * `PATCH /v1/user/store/:storeId/keys/:keyId`
     */
    update(keyId: string, input: KeyChanges, options?: GuardedOptions): Promise<Key>
    /**
     * Set or add credits. Sets what the key has left, or adds to it, exactly, whatever is spent meanwhile. The key
     * must have `credits`; to change its refill, change the key.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `key_not_found`, `cannot_grant`, `own_key`,
     * `key_revoked`, `key_expired`, `no_credits`, `response_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/keys/:keyId/credits`
     */
    changeCredits(keyId: string, input: CreditChange, options?: KeyedOptions): Promise<Key>
    /**
     * Rotate a key. Gives the key a new secret, which is shown only once; its id and everything else stay the same.
     * During the grace period the old secret can still be verified and can read, and `rotation` shows whether
     * anyone still uses it. Rotating again during the grace period ends the older secret immediately. If several
     * rotations overlap, one of them wins.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `key_not_found`, `cannot_grant`,
     * `precondition_failed`, `key_revoked`, `key_expired`, `rotation_conflict`, `secret_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/keys/:keyId/rotate`
     */
    rotate(keyId: string, input?: Rotation, options?: CallOptions): Promise<KeyWithSecret>
    /**
     * Revoke a key. The key stops working permanently: immediately on the node that responds, within 250 ms on the
     * others, and by `effectiveBy` even on a node that has lost contact. The record stays, and open invitations
     * sent with the key are withdrawn. `made` lists what was created with it, or with keys created with it. All of
     * that keeps working unless you send `made=revoke`, which needs `MANAGE_WEBHOOKS` if there are webhooks among
     * it. Revoking a revoked key gives the same response.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `key_not_found`, `precondition_failed`.
     *
     * `DELETE /v1/user/store/:storeId/keys/:keyId`
     */
    revoke(keyId: string, query?: KeysRevokeQuery, options?: GuardedOptions): Promise<RevokedKey>
    /**
     * Change many keys. Revokes, disables, enables or expires up to 1,000 keys, and answers for each. Each key has
     * its own event, and fails on its own if you could not change it alone: one that has more permissions than you
     * fails with `cannot_grant`, the key you use with `own_key`, though it can revoke itself; it comes last. The
     * keys are changed a hundred at a time. A request that is interrupted leaves every key either changed or not:
     * send it again with the same `Idempotency-Key`, and it continues where it stopped and answers for all. `owner`
     * and `filter` match only keys that the action would change, so when `more` is `true`, the same request with a
     * new `Idempotency-Key` takes the next ones. One bulk change at a time per store, and two per account: another
     * one gets 429.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `POST /v1/user/store/:storeId/keys/bulk`
     */
    bulk(input: BulkChange, options?: KeyedOptions): Promise<BulkResults>
    /**
     * Freeze all keys. For emergencies: every key of the store is `FROZEN` until you unfreeze them. Nothing else
     * about the keys changes.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `POST /v1/user/store/:storeId/keys/freeze`
     */
    freeze(options?: KeyedOptions): Promise<Affected>
    /**
     * Unfreeze all keys. The keys of the store work again, except those that are revoked, expired or disabled.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `POST /v1/user/store/:storeId/keys/unfreeze`
     */
    unfreeze(options?: KeyedOptions): Promise<Affected>
    /**
     * Read the usage of all keys. The usage of every key of the store that was used in the period, newest key
     * first, one page of keys at a time. Each page looks at up to 2,000 keys, so it can be empty and still have a
     * `nextCursor`, and it has at most 5,000 hours or days, so for a long period it has fewer keys than `limit`.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `GET /v1/user/store/:storeId/keys/usage`
     */
    storeUsage(query?: KeysStoreUsageQuery, options?: ReadOptions): List<StoreUsage['data'][number], StoreUsage>
    /**
     * Read the usage of a key. How often the key was verified or used to call this API, by outcome, per hour or per
     * day (UTC). Hours are kept for 90 days, days for 400. Without `from` and `to`, you get the last 24 hours, or
     * the last 30 days.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `key_not_found`.
     *
     * `GET /v1/user/store/:storeId/keys/:keyId/usage`
     */
    usage(keyId: string, query?: KeysUsageQuery, options?: ReadOptions): Promise<KeyUsage>
    /**
     * List permissions a key does not need. Which of its permissions were needed in the last 30 days, and which
     * were not. A permission counts as needed when a back end asked for it in a verification, or when the key used
     * it to call this API.
     *
     * Requires the permission `MANAGE_KEYS` in the store. Errors: `key_not_found`.
     *
     * `GET /v1/user/store/:storeId/keys/:keyId/advice`
     */
    advice(keyId: string, options?: ReadOptions): Promise<Advice>
  }
  owners: {
    /**
     * Read the usage of an owner. The usage of all keys that have this `owner`, added up, revoked and expired keys
     * included. An owner without keys has an empty list. What is counted, and for how long it is kept, is as for a
     * single key.
     *
     * Requires the permission `MANAGE_KEYS` in the store.
     *
     * `GET /v1/user/store/:storeId/owners/:owner/usage`
     */
    usage(owner: string, query?: OwnersUsageQuery, options?: ReadOptions): Promise<OwnerUsage>
  }
  addresses: {
    /**
     * Create a billing address. Creates an address that belongs to you. The response has it in normal form, with
     * the address label the way its country writes it. Your first address in a store is your default there;
     * `isDefault: true` makes another one the default.
     *
     * For any member of the store, customers included. Errors: `limit_exceeded`.
     *
     * `POST /v1/store/:storeId/billing`
     */
    create(input: NewAddress, options?: KeyedOptions): Promise<Address>
    /**
     * Validate a billing address. Runs the same checks as creating an address, and stores nothing. Problems are
     * returned as `errors` with `valid: false`, so that a form can show them; only a body that is not JSON is an
     * error (400).
     *
     * For any member of the store, customers included.
     *
     * `POST /v1/store/:storeId/billing/validate`
     */
    validate(input: NewAddress, options?: ReadOptions): Promise<CheckedAddress>
    /**
     * List my billing addresses. The default comes first, then the newest.
     *
     * For any member of the store, customers included.
     *
     * `GET /v1/store/:storeId/billing`
     */
    list(query?: AddressesListQuery, options?: ReadOptions): List<Addresses['data'][number], Addresses>
    /**
     * Read one of my billing addresses. Only your own addresses: somebody else's looks as if it did not exist.
     *
     * For any member of the store, customers included. Errors: `address_not_found`.
     *
     * `GET /v1/store/:storeId/billing/:addressId`
     */
    read(addressId: string, options?: ReadOptions): Promise<Address>
    /**
     * Change one of my billing addresses. Fields that are left out keep their value, and `null` clears a field. The
     * resulting address is validated as a whole. Changing the content creates a new version; changing the default
     * does not, but it changes the `ETag` of both addresses.
     *
     * For any member of the store, customers included. Errors: `address_not_found`, `precondition_failed`.
     *
     * `PATCH /v1/store/:storeId/billing/:addressId`
     */
    update(addressId: string, input: AddressChanges, options?: GuardedOptions): Promise<Address>
    /**
     * Delete one of my billing addresses. If it was the default, the newest of your other addresses becomes the
     * default. Its versions stay readable for the store's invoices.
     *
     * For any member of the store, customers included. Errors: `address_not_found`, `precondition_failed`.
     *
     * `DELETE /v1/store/:storeId/billing/:addressId`
     */
    delete(addressId: string, options?: GuardedOptions): Promise<void>
    /**
     * List the versions of one of my billing addresses. The content of the address after each change, newest first.
     *
     * For any member of the store, customers included. Errors: `address_not_found`.
     *
     * `GET /v1/store/:storeId/billing/:addressId/versions`
     */
    versions(
      addressId: string,
      query?: AddressesVersionsQuery,
      options?: ReadOptions,
    ): List<AddressVersions['data'][number], AddressVersions>
    /**
     * Read a version of one of my billing addresses. A version never changes.
     *
     * For any member of the store, customers included. Errors: `address_not_found`, `version_not_found`.
     *
     * `GET /v1/store/:storeId/billing/:addressId/versions/:n`
     */
    readVersion(addressId: string, version: number, options?: ReadOptions): Promise<AddressVersion>
  }
  invoicing: {
    /**
     * List the billing addresses of a user, for invoices. The default comes first, then the newest. The list is
     * empty for a user without addresses in this store, and for an unknown one.
     *
     * Requires the permission `READ` in the store.
     *
     * `GET /v1/user/store/:storeId/billing`
     */
    list(query: InvoicingListQuery, options?: ReadOptions): List<InvoiceAddresses['data'][number], InvoiceAddresses>
    /**
     * Read a billing address, for an invoice. With `at`, this also finds an address that was deleted later. For an
     * invoice, keep the `version` it was issued with, and put that version on hold.
     *
     * Requires the permission `READ` in the store. Errors: `address_not_found`.
     *
     * `GET /v1/user/store/:storeId/billing/:addressId`
     */
    read(addressId: string, query?: InvoicingReadQuery, options?: ReadOptions): Promise<InvoiceAddress>
    /**
     * List the versions of a billing address, for invoices. Newest first. They remain after the address is deleted.
     *
     * Requires the permission `READ` in the store. Errors: `address_not_found`.
     *
     * `GET /v1/user/store/:storeId/billing/:addressId/versions`
     */
    versions(
      addressId: string,
      query?: InvoicingVersionsQuery,
      options?: ReadOptions,
    ): List<AddressVersions['data'][number], AddressVersions>
    /**
     * Read a version of a billing address, for an invoice. The version an invoice refers to. It never changes, and
     * it remains after the address is deleted and its user has left. When its user is erased, only a hold keeps its
     * text.
     *
     * Requires the permission `READ` in the store. Errors: `address_not_found`, `version_not_found`.
     *
     * `GET /v1/user/store/:storeId/billing/:addressId/versions/:n`
     */
    readVersion(addressId: string, version: number, options?: ReadOptions): Promise<AddressVersion>
    /**
     * Put a version of a billing address on hold. Keeps the version readable for the store until the hold ends,
     * encrypted under its own key: even if its user is erased and, for the operator, after the store is gone. When
     * the user erases their account, they are told what is kept and why. A second request replaces the hold.
     *
     * Requires the permission `MANAGE_ORDERS` in the store. Without `READ`, the response has only `version`, `hold`
     * and the fields you sent. Errors: `address_not_found`, `version_not_found`, `version_erased`.
     *
     * `POST /v1/user/store/:storeId/billing/:addressId/versions/:n/hold`
     */
    hold(addressId: string, version: number, input: NewHold, options?: KeyedOptions): Promise<AddressVersion>
    /**
     * End the hold of a version of a billing address. If its user has been erased in the meantime, the version is
     * erased too, and cannot be recovered.
     *
     * Requires the permission `MANAGE_ORDERS` in the store. Errors: `address_not_found`, `version_not_found`,
     * `hold_not_found`.
     *
     * `DELETE /v1/user/store/:storeId/billing/:addressId/versions/:n/hold`
     */
    release(addressId: string, version: number, options?: ReadOptions): Promise<void>
  }
  customers: {
    /**
     * List the customers of a store. Newest first; with `q`, ordered by external id.
     *
     * Requires the permission `READ` in the store.
     *
     * `GET /v1/user/store/:storeId/customers`
     */
    list(query?: CustomersListQuery, options?: ReadOptions): List<Customers['data'][number], Customers>
    /**
     * Import customers. Takes up to 1,000 customers, with up to 5,000 addresses in all, in a body of up to 2 MiB.
     * Each succeeds or fails on its own: new customers are created, existing ones are changed as with PUT, and
     * addresses a customer does not have yet are added. Sending the same import again changes nothing. Imported
     * addresses do not count towards the daily limit on versions. Imports can change all customers that the store
     * may have twice a day (UTC): beyond that, 429. One import at a time per store, and two per account: another
     * one gets 429.
     *
     * Requires the permission `MANAGE_CUSTOMERS` in the store.
     *
     * `POST /v1/user/store/:storeId/customers/import`
     */
    import(input: Import, options?: KeyedOptions): Promise<ImportResults>
    /**
     * Create or change a customer. Creates the customer with this id in your own system (201), or updates the
     * existing one (200). Sending the same request again changes nothing. Customers need no account. With `userId`,
     * the external id is linked to a member who has an account; nothing else links the two.
     *
     * Requires the permission `MANAGE_CUSTOMERS` in the store. Without `READ`, the response has only `id`,
     * `externalId` and the fields you sent. Errors: `already_linked`, `limit_exceeded`.
     *
     * `PUT /v1/user/store/:storeId/customers/:externalId`
     */
    put(externalId: string, input?: CustomerChanges, options?: ReadOptions): Promise<Customer>
    /**
     * Read a customer. Finds the customer by their id in your own system.
     *
     * Requires the permission `READ` in the store. Errors: `customer_not_found`.
     *
     * `GET /v1/user/store/:storeId/customers/:externalId`
     */
    read(externalId: string, options?: ReadOptions): Promise<Customer>
    /**
     * Erase a customer. This cannot be undone. E-mail, name and external id are deleted, and the key their
     * addresses are encrypted under is destroyed. Of an address, only country, state and postal code are left for
     * invoices, unless a version is on hold. A linked customer keeps their account and addresses: only the link and
     * the details you stored about them are deleted. `keys` lists the keys whose `owner` is this external id: they
     * keep working, under a random `owner`, unless you send `keys=revoke`, which also needs `MANAGE_KEYS`.
     *
     * Requires the permission `MANAGE_CUSTOMERS` in the store. Errors: `customer_not_found`.
     *
     * `DELETE /v1/user/store/:storeId/customers/:externalId`
     */
    erase(externalId: string, query?: CustomersEraseQuery, options?: ReadOptions): Promise<ErasedCustomer>
    /**
     * Export everything held about a customer. The customer, their addresses in this store with all versions, the
     * keys whose `owner` they are (without permissions and metadata), and the events about them, as one JSON file
     * to download. `READ` is enough for all of it, although the lists of keys and events require more. The file is
     * streamed: if it ends early, request it again. At most two exports at a time per caller.
     *
     * Requires the permission `READ` in the store. Errors: `customer_not_found`.
     *
     * `GET /v1/user/store/:storeId/customers/:externalId/export`
     */
    export(externalId: string, options?: ReadOptions): Promise<CustomerExport>
    addresses: {
      /**
       * Create a billing address for a customer. The address belongs to the customer, and the event names you as the
       * actor. The response has it in normal form, with the address label the way its country writes it. Their first
       * address in the store is their default there; `isDefault: true` makes another one the default.
       *
       * Requires the permission `MANAGE_CUSTOMERS` in the store. Errors: `customer_not_found`, `limit_exceeded`.
       *
       * `POST /v1/user/store/:storeId/customers/:externalId/billing`
       */
      create(externalId: string, input: NewAddress, options?: KeyedOptions): Promise<Address>
      /**
       * Validate a billing address for a customer. Runs the same checks as creating an address, and stores nothing.
       * Problems are returned as `errors` with `valid: false`; only a body that is not JSON is an error (400).
       *
       * Requires the permission `READ` in the store. Errors: `customer_not_found`.
       *
       * `POST /v1/user/store/:storeId/customers/:externalId/billing/validate`
       */
      validate(externalId: string, input: NewAddress, options?: ReadOptions): Promise<CheckedAddress>
      /**
       * List the billing addresses of a customer. The default comes first, then the newest.
       *
       * Requires the permission `READ` in the store. Errors: `customer_not_found`.
       *
       * `GET /v1/user/store/:storeId/customers/:externalId/billing`
       */
      list(
        externalId: string,
        query?: CustomersAddressesListQuery,
        options?: ReadOptions,
      ): List<Addresses['data'][number], Addresses>
      /**
       * Read a billing address of a customer. Only this customer's addresses: somebody else's looks as if it did not
       * exist.
       *
       * Requires the permission `READ` in the store. Errors: `customer_not_found`, `address_not_found`.
       *
       * `GET /v1/user/store/:storeId/customers/:externalId/billing/:addressId`
       */
      read(externalId: string, addressId: string, options?: ReadOptions): Promise<Address>
      /**
       * Change a billing address of a customer. Fields that are left out keep their value, and `null` clears a field.
       * The resulting address is validated as a whole. Changing the content creates a new version; changing the
       * default does not, but it changes the `ETag` of both addresses.
       *
       * Requires the permission `MANAGE_CUSTOMERS` in the store. Without `READ`, the response has only `id`,
       * `storeId`, `userId`, `version` and the fields you sent. Errors: `customer_not_found`, `address_not_found`,
       * `precondition_failed`.
       *
       * `PATCH /v1/user/store/:storeId/customers/:externalId/billing/:addressId`
       */
      update(externalId: string, addressId: string, input: AddressChanges, options?: GuardedOptions): Promise<Address>
      /**
       * Delete a billing address of a customer. If it was the default, the newest of their other addresses becomes
       * the default. Its versions stay readable for invoices.
       *
       * Requires the permission `MANAGE_CUSTOMERS` in the store. Errors: `customer_not_found`, `address_not_found`,
       * `precondition_failed`.
       *
       * `DELETE /v1/user/store/:storeId/customers/:externalId/billing/:addressId`
       */
      delete(externalId: string, addressId: string, options?: GuardedOptions): Promise<void>
      /**
       * List the versions of a billing address of a customer. The content of the address after each change, newest
       * first.
       *
       * Requires the permission `READ` in the store. Errors: `customer_not_found`, `address_not_found`.
       *
       * `GET /v1/user/store/:storeId/customers/:externalId/billing/:addressId/versions`
       */
      versions(
        externalId: string,
        addressId: string,
        query?: CustomersAddressesVersionsQuery,
        options?: ReadOptions,
      ): List<AddressVersions['data'][number], AddressVersions>
      /**
       * Read a version of a billing address of a customer. A version never changes.
       *
       * Requires the permission `READ` in the store. Errors: `customer_not_found`, `address_not_found`,
       * `version_not_found`.
       *
       * `GET /v1/user/store/:storeId/customers/:externalId/billing/:addressId/versions/:n`
       */
      readVersion(
        externalId: string,
        addressId: string,
        version: number,
        options?: ReadOptions,
      ): Promise<AddressVersion>
    }
  }
  members: {
    /**
     * List the members. Newest account first.
     *
     * Requires the permission `READ` in the store.
     *
     * `GET /v1/user/store/:storeId/members`
     */
    list(query?: MembersListQuery, options?: ReadOptions): List<Members['data'][number], Members>
    /**
     * Read a member. Their role and permissions in this store.
     *
     * Requires the permission `READ` in the store. Errors: `member_not_found`.
     *
     * `GET /v1/user/store/:storeId/members/:userId`
     */
    read(userId: string, options?: ReadOptions): Promise<Member>
    /**
     * Change a member. Sets the role, the permissions, or both. `permissions` is the complete set, which replaces
     * that of the role (`null`: back to the role's); `addPermissions` and `removePermissions` change single
     * permissions and leave the rest. You can't grant a permission you don't have, nor change a member with
     * permissions you don't have. If the member loses a permission or is no longer an owner, `keys` and `webhooks`
     * say what happens to the keys and webhooks they created or rotated: `keys=revoke` requires `MANAGE_KEYS` and
     * `webhooks=disable` requires `MANAGE_WEBHOOKS`, unless you change yourself.
     *
     * Requires the permission `MANAGE_MEMBERS` in the store. Without `READ`, `member` has only `storeId`, `userId`
     * and the fields you sent. Errors: `member_not_found`, `cannot_grant`, `outranked`, `last_owner`,
     * `precondition_failed`.
     *
     * `PATCH /v1/user/store/:storeId/members/:userId`
     */
    update(userId: string, input: MemberChanges & MembersUpdateQuery, options?: GuardedOptions): Promise<ChangedMember>
    /**
     * Remove a member. Their billing addresses remain for invoices, and open invitations to them and from them are
     * withdrawn. `keys` and `webhooks` say what happens to the keys and webhooks they created or rotated: they keep
     * working unless you say otherwise. `keys=revoke` requires `MANAGE_KEYS` and `webhooks=disable` requires
     * `MANAGE_WEBHOOKS`, unless you remove yourself. The request also works for a former member, so that you can
     * still revoke what they left behind; `member` is then their last membership, without name and e-mail.
     *
     * Requires the permission `MANAGE_MEMBERS` in the store. Without `READ`, `member` has only `storeId`, `userId`
     * and the fields you sent. Errors: `member_not_found`, `outranked`, `last_owner`, `precondition_failed`.
     *
     * `DELETE /v1/user/store/:storeId/members/:userId`
     */
    remove(userId: string, query?: MembersRemoveQuery, options?: GuardedOptions): Promise<ChangedMember>
  }
  invitations: {
    /**
     * Invite somebody. The `token` is shown only once. Give it to the person, who must accept it within 7 days
     * (where the service sends mail, a link is mailed to them as well), signed in with that e-mail address.
     * `permissions` is the complete set, which replaces that of the role; `addPermissions` and `removePermissions`
     * change the role's. You can't grant a permission you don't have. A key with an expiry, an allowlist or a rate
     * limit can invite only customers without permissions. An invitation sent with a key is valid only as long as
     * the secret it was sent with.
     *
     * Requires the permission `MANAGE_MEMBERS` in the store. Errors: `cannot_grant`, `limit_exceeded`,
     * `secret_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/invitations`
     */
    create(input: NewInvitation, options?: KeyedOptions): Promise<InvitationWithToken>
    /**
     * List the open invitations. Newest first, without their tokens.
     *
     * Requires the permission `MANAGE_MEMBERS` in the store.
     *
     * `GET /v1/user/store/:storeId/invitations`
     */
    list(query?: InvitationsListQuery, options?: ReadOptions): List<Invitations['data'][number], Invitations>
    /**
     * Read an open invitation. Without its token.
     *
     * Requires the permission `MANAGE_MEMBERS` in the store. Errors: `invitation_not_found`.
     *
     * `GET /v1/user/store/:storeId/invitations/:invitationId`
     */
    read(invitationId: string, options?: ReadOptions): Promise<Invitation>
    /**
     * Withdraw an invitation. Its token stops working immediately.
     *
     * Requires the permission `MANAGE_MEMBERS` in the store. Errors: `invitation_not_found`.
     *
     * `DELETE /v1/user/store/:storeId/invitations/:invitationId`
     */
    withdraw(invitationId: string, options?: ReadOptions): Promise<void>
  }
  serviceTokens: {
    /**
     * Issue a service token. For a back end that verifies this store's keys. The token works for this store only,
     * so requests to verify need no `storeId`, and a key of any other store is `NOT_FOUND`. It is shown only once.
     * The operator sets how many requests per minute it can make (`SERVICE_TOKEN_RATE_LIMIT`, by default 6,000; all
     * tokens of the store together ten times as many); beyond that, requests get 429 with `Retry-After`. Requires a
     * sign-in within the last 10 minutes.
     *
     * For owners of the store, signed in themselves; not for API keys. Errors: `limit_exceeded`,
     * `recent_sign_in_required`, `secret_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/service-tokens`
     */
    create(input: NewServiceToken, options?: KeyedOptions): Promise<ServiceTokenWithSecret>
    /**
     * List the service tokens. The tokens that owners issued for this store, newest first, without the tokens
     * themselves.
     *
     * For owners of the store, signed in themselves; not for API keys.
     *
     * `GET /v1/user/store/:storeId/service-tokens`
     */
    list(query?: ServiceTokensListQuery, options?: ReadOptions): List<ServiceTokens['data'][number], ServiceTokens>
    /**
     * Read a service token. The record, without the token itself.
     *
     * For owners of the store, signed in themselves; not for API keys. Errors: `service_token_not_found`.
     *
     * `GET /v1/user/store/:storeId/service-tokens/:serviceTokenId`
     */
    read(serviceTokenId: string, options?: ReadOptions): Promise<ServiceToken>
    /**
     * Revoke a service token. The token stops working: immediately on the node that responds, within 250 ms on the
     * others. Revoking it again gives the same response.
     *
     * For owners of the store, signed in themselves; not for API keys. Errors: `service_token_not_found`.
     *
     * `DELETE /v1/user/store/:storeId/service-tokens/:serviceTokenId`
     */
    revoke(serviceTokenId: string, options?: ReadOptions): Promise<ServiceToken>
  }
  events: {
    /**
     * List events. The audit trail of the store, newest first: every change, who made it, and what it changed. An
     * event is listed as soon as the request that caused it is answered, with `position: null` until it is sealed,
     * which takes at most 5 seconds. Paging misses nothing and repeats nothing, whatever happens in the meantime.
     *
     * Requires the permission `VIEW_EVENTS` in the store.
     *
     * `GET /v1/user/store/:storeId/events`
     */
    list(query?: EventsListQuery, options?: ReadOptions): List<Events['data'][number], Events>
    /**
     * Read an event. One event of the audit trail. `position` is `null` until it is sealed.
     *
     * Requires the permission `VIEW_EVENTS` in the store. Errors: `event_not_found`.
     *
     * `GET /v1/user/store/:storeId/events/:eventId`
     */
    read(eventId: string, options?: ReadOptions): Promise<Event>
    /**
     * Read the head of the trail. The number of sealed events, and a hash over all of them. Keep a copy where this
     * service cannot change it: with it, anyone can tell whether an export of the store's events was altered.
     *
     * Requires the permission `VIEW_EVENTS` in the store.
     *
     * `GET /v1/user/store/:storeId/events/head`
     */
    head(options?: ReadOptions): Promise<EventHead>
  }
  webhooks: {
    /**
     * Create a webhook. From now on, events of the store are sent to the URL, signed according to Standard
     * Webhooks. The response has the `secret` to verify signatures with. It is shown only once; if the response is
     * lost, send the same request with the same `Idempotency-Key` within an hour. A key with an expiry, an
     * allowlist or a rate limit cannot create, change or rotate webhooks.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `cannot_grant`, `limit_exceeded`,
     * `secret_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/webhooks`
     */
    create(input: NewWebhook, options?: KeyedOptions): Promise<WebhookWithSecret>
    /**
     * List the webhooks. Newest first, without their secrets.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store.
     *
     * `GET /v1/user/store/:storeId/webhooks`
     */
    list(query?: WebhooksListQuery, options?: ReadOptions): List<Webhooks['data'][number], Webhooks>
    /**
     * Read a webhook. The record, without its secret.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`.
     *
     * `GET /v1/user/store/:storeId/webhooks/:webhookId`
     */
    read(webhookId: string, options?: ReadOptions): Promise<Webhook>
    /**
     * Change a webhook. Fields that are left out keep their value. `"enabled": false` disables the webhook: new
     * events are not queued for it, and pending messages keep waiting. `"enabled": true` enables it again, even if
     * the service disabled it.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`, `cannot_grant`,
     * `precondition_failed`.
     *
     * `PATCH /v1/user/store/:storeId/webhooks/:webhookId`
     */
    update(webhookId: string, input: WebhookChanges, options?: GuardedOptions): Promise<Webhook>
    /**
     * Delete a webhook. Nothing more is sent to it, and the record of its deliveries is deleted.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`, `precondition_failed`.
     *
     * `DELETE /v1/user/store/:storeId/webhooks/:webhookId`
     */
    delete(webhookId: string, options?: GuardedOptions): Promise<void>
    /**
     * Rotate a webhook's secret. Gives the webhook a new secret, which is shown only once. During the grace period
     * every message has two signatures, one with each secret, so that you can switch without losing messages.
     * Rotating again during the grace period ends the older secret immediately.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`, `cannot_grant`,
     * `secret_no_longer_available`.
     *
     * `POST /v1/user/store/:storeId/webhooks/:webhookId/rotate`
     */
    rotate(webhookId: string, input?: WebhookRotation, options?: KeyedOptions): Promise<WebhookWithSecret>
    /**
     * Send a test message. Sends a message of type `webhook.test`, whatever types the webhook is subscribed to.
     * There is only one attempt. Read the delivery to see the result.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`, `webhook_disabled`,
     * `limit_exceeded`.
     *
     * `POST /v1/user/store/:storeId/webhooks/:webhookId/test`
     */
    test(webhookId: string, options?: KeyedOptions): Promise<Delivery>
    /**
     * Send the events of a period again. Sends every event between `from` and `to`, at most 31 days, whose type the
     * webhook is subscribed to, whether or not it was sent before, and with the same `webhook-id`. Events of the
     * last five seconds may be missing. One request sends at most 1,000 events: while `nextFrom` is not `null`,
     * repeat the request from there.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`, `webhook_disabled`,
     * `limit_exceeded`.
     *
     * `POST /v1/user/store/:storeId/webhooks/:webhookId/redeliver`
     */
    redeliver(webhookId: string, input: Redelivery, options?: KeyedOptions): Promise<Redelivered>
  }
  deliveries: {
    /**
     * List the deliveries. What was sent to the webhook in the last 30 days, and with what result, newest first.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`.
     *
     * `GET /v1/user/store/:storeId/webhooks/:webhookId/deliveries`
     */
    list(
      webhookId: string,
      query?: DeliveriesListQuery,
      options?: ReadOptions,
    ): List<Deliveries['data'][number], Deliveries>
    /**
     * Read a delivery. The result so far, and when the next attempt is due.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`, `delivery_not_found`.
     *
     * `GET /v1/user/store/:storeId/webhooks/:webhookId/deliveries/:deliveryId`
     */
    read(webhookId: string, deliveryId: string, options?: ReadOptions): Promise<Delivery>
    /**
     * Send a delivery again. Sends the same message with the same `webhook-id`, as a new delivery.
     *
     * Requires the permission `MANAGE_WEBHOOKS` in the store. Errors: `webhook_not_found`, `delivery_not_found`,
     * `webhook_disabled`, `limit_exceeded`.
     *
     * `POST /v1/user/store/:storeId/webhooks/:webhookId/deliveries/:deliveryId/redeliver`
     */
    redeliver(webhookId: string, deliveryId: string, options?: KeyedOptions): Promise<Delivery>
  }
}

/** An invitation to accept. */
export interface Acceptance {
  /** The token of the invitation. */
  token: string
}

/** The passkey that was added. */
export interface AddedPasskey {
  /** The id of the passkey. */
  id: string
  /** The name you gave it. */
  name: string
  /** Whether the passkey was synced, for example by a password manager, when it was last used. */
  backedUp: boolean
  /** When it was created. */
  createdAt: string
  /** When it was last used to sign in. `null` if it was never used. */
  lastUsedAt: string | null
  /**
   * Ten recovery codes, if this is your first second factor; otherwise `null`. They are shown only in this
   * response.
   */
  recoveryCodes: string[] | null
}

/** A billing address. */
export interface Address {
  /** The id of the address. */
  id: string
  /** The id of the store. */
  storeId: string
  /** The id of the user or customer the address belongs to. */
  userId: string
  /** Given name. */
  firstName: string | null
  /** Family name. */
  lastName: string | null
  /** The company, for business customers. */
  company: string | null
  /**
   * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
   * form, an invalid one is kept with a warning.
   */
  taxId: string | null
  /** Street and number, or a PO box. */
  addressLine1: string
  /** Apartment, floor, building and the like. */
  addressLine2: string | null
  /** City or town. */
  city: string | null
  /**
   * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
   * is one.
   */
  state: string | null
  /** Postal code. Returned the way its country writes it. */
  postalCode: string | null
  /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
  country: string
  /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
  phone: string | null
  /** Whether it is the user's default address in this store. */
  isDefault: boolean
  /** The address label, line by line, the way its country writes it. */
  formatted: string[]
  /** What looks wrong but was accepted. */
  warnings: Array<{
    /** The field, as a JSON pointer. */
    pointer: string
    /** A stable code for programs. New codes may be added. */
    code: string
    /** An explanation that you can show to the person filling in the form. */
    detail: string
    /** What may have been meant: the code of a state or a country. */
    suggestion?: string
  }>
  /** Starts at 1 and goes up with every change of the content. Invoices can refer to it. */
  version: number
  /** When it was created. */
  createdAt: string
  /** When it was last changed. */
  updatedAt: string
}

/**
 * Changes to a billing address. Fields that are left out keep their value; `null` clears a field. The resulting
 * address is validated as a whole, like a new one.
 */
export interface AddressChanges {
  /** Given name. */
  firstName?: string | null | undefined
  /** Family name. */
  lastName?: string | null | undefined
  /** The company, for business customers. */
  company?: string | null | undefined
  /**
   * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
   * form, an invalid one is kept with a warning.
   */
  taxId?: string | null | undefined
  /** Street and number, or a PO box. */
  addressLine1?: string | undefined
  /** Apartment, floor, building and the like. */
  addressLine2?: string | null | undefined
  /** City or town. */
  city?: string | null | undefined
  /**
   * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
   * is one.
   */
  state?: string | null | undefined
  /** Postal code. Returned the way its country writes it. */
  postalCode?: string | null | undefined
  /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
  country?: string | undefined
  /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
  phone?: string | null | undefined
  /**
   * `true` makes this the default instead of the current one. `false` makes the newest of the other addresses the
   * default; the only address of a user is always the default.
   */
  isDefault?: boolean | undefined
}

/** The content of an address at one time. */
export interface AddressContent {
  /** The id of the address. */
  id: string
  /** The id of the store. */
  storeId: string
  /** The id of the user or customer the address belongs to. */
  userId: string
  /** Given name. */
  firstName: string | null
  /** Family name. */
  lastName: string | null
  /** The company, for business customers. */
  company: string | null
  /**
   * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
   * form, an invalid one is kept with a warning.
   */
  taxId: string | null
  /** Street and number, or a PO box. */
  addressLine1: string | null
  /** Apartment, floor, building and the like. */
  addressLine2: string | null
  /** City or town. */
  city: string | null
  /**
   * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
   * is one.
   */
  state: string | null
  /** Postal code. Returned the way its country writes it. */
  postalCode: string | null
  /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
  country: string
  /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
  phone: string | null
  /** The address label, line by line, the way its country writes it. */
  formatted: string[]
  /** What looks wrong but was accepted. */
  warnings: Array<{
    /** The field, as a JSON pointer. */
    pointer: string
    /** A stable code for programs. New codes may be added. */
    code: string
    /** An explanation that you can show to the person filling in the form. */
    detail: string
    /** What may have been meant: the code of a state or a country. */
    suggestion?: string
  }>
  /** Starts at 1 and goes up with every change of the content. Invoices can refer to it. */
  version: number
  /** When it was created. */
  createdAt: string
  /** When it was last changed. */
  updatedAt: string
  /**
   * `true` if its user was erased: only country, state and postal code are left, and all other fields are `null`
   * or empty.
   */
  erased: boolean
}

/** One thing that is wrong with an address. */
export interface AddressFault {
  /** The field, as a JSON pointer. */
  pointer: string
  /** A stable code for programs. */
  code: string
  /** An explanation that you can show to the person filling in the form. */
  detail: string
  /** A valid value. */
  example?: string
  /** What may have been meant: the code of a state or a country. */
  suggestion?: string
}

/** One version of an address. Versions never change. */
export interface AddressVersion {
  /** The number of the version, counted from 1. */
  version: number
  /** When this version was created. */
  at: string
  /** Who created it: the user themselves, or a member or key of the store that manages the address for them. */
  by: {
    /** What it was: `user`, a person; `key`, an API key. */
    kind: 'user' | 'key' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** The content of an address at one time. */
  address: AddressContent
  /** Set if the version is on hold: the store can read it until then, even if its user is erased. */
  hold: {
    /** Why the version is kept. Its user can read this. */
    reason: string
    /** When the hold ends: at most 5,479 days (15 years) from now. */
    until: string
    /** Who put it on hold. */
    by: {
      /** What it was: `user`, a person; `key`, an API key. */
      kind: 'user' | 'key' | (string & {})
      /** The id of that user, key or service token. */
      id: string
    }
    /** When it was put on hold. */
    at: string
  } | null
}

/** One page of a list. */
export interface AddressVersions {
  /** The items on this page. */
  data: AddressVersion[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

/** One page of a list. */
export interface Addresses {
  /** The items on this page. */
  data: Address[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface AddressesListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

export interface AddressesVersionsQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

/** Permissions the key may not need. */
export interface Advice {
  /** The start of the period that was looked at. */
  since: string
  /** Permissions the key has and that no verification or request needed in this period. Consider removing them. */
  unused: string[]
  /** Permissions that were needed, and when they were last needed. */
  exercised: Record<string, string>
}

/** How many keys were changed. */
export interface Affected {
  /** The number of live keys that were changed. */
  affected: number
}

/**
 * A signature made with a passkey, as WebAuthn's `AuthenticationResponseJSON`: the result of
 * `credential.toJSON()`.
 */
export interface Assertion {
  /** The id of the passkey, in base64url. */
  id: string
  /** The same as `id`. */
  rawId: string
  /** Always `public-key`. */
  type: string
  /** The response of the authenticator. */
  response: {
    /** The client data that was signed, in base64url. */
    clientDataJSON: string
    /** The authenticator data, in base64url. */
    authenticatorData: string
    /** The signature, in base64url. */
    signature: string
    /** The user handle stored with the passkey, in base64url. */
    userHandle?: string | null | undefined
  }
}

/** A new passkey, as WebAuthn's `RegistrationResponseJSON`: the result of `credential.toJSON()`. */
export interface Attestation {
  /** The id of the passkey, in base64url. */
  id: string
  /** The same as `id`. */
  rawId: string
  /** Always `public-key`. */
  type: string
  /** The response of the authenticator. */
  response: {
    /** The client data that was signed, in base64url. */
    clientDataJSON: string
    /** The public key and the attestation statement, in base64url. */
    attestationObject: string
    /** How the browser can reach the authenticator, such as `internal` or `usb`. */
    transports?: readonly string[] | undefined
  }
}

/** A change of many keys: exactly one of `ids`, `owner` and `filter` says which. */
export interface BulkChange {
  /** The ids of the keys. */
  ids?: readonly string[] | undefined
  /** All keys of this owner that the action would change. */
  owner?: string | undefined
  /** All keys that satisfy each of these conditions and that the action would change. */
  filter?:
    | {
        /** Only keys with this status. */
        status?: 'ACTIVE' | 'DISABLED' | 'EXPIRED' | 'REVOKED' | undefined
        /** Only keys of this type. */
        type?: 'PROD' | 'TEST' | 'DEV' | undefined
        /** Only keys whose name contains this, or whose `start` begins with it. */
        q?: string | undefined
        /** Only keys that the user or key with this id created. */
        createdBy?: string | undefined
        /**
         * Only keys that were last accepted before this time or, if they never were, created before it. It must be in
         * the past.
         */
        unusedSince?: string | Date | undefined
      }
    | undefined
  /**
   * `revoke`: for good. `disable`: until enabled again. `enable`: what was disabled. `expire`: at `expiresAt`; a
   * key that expires earlier anyway is left as it is.
   */
  action: 'revoke' | 'disable' | 'enable' | 'expire'
  /** With `revoke`: why the keys are revoked. Stored with each key. */
  reason?: string | undefined
  /** With `expire`, and required there: when the keys stop working, at most 10 years ahead. */
  expiresAt?: string | Date | undefined
}

/** What became of one key. */
export interface BulkResult {
  /** The id of the key. */
  id: string
  /**
   * `done`: the key was changed. `unchanged`: it was so already, or was changed by somebody else meanwhile and no
   * longer matches. `failed`: nothing was changed; see `error`.
   */
  status: 'done' | 'unchanged' | 'failed' | (string & {})
  /** Why it failed. Present only with `failed`. */
  error?: {
    /** The code that changing this key alone would have failed with. */
    code: string
    /** What that means, for people. */
    detail: string
  }
}

/** What became of each key. */
export interface BulkResults {
  /** One for each key: in the order of `ids`, or newest key first. */
  results: BulkResult[]
  /**
   * Whether there are further keys: `owner` or `filter` matches more than 1,000, or your rights changed meanwhile
   * and the rest was not begun. Send the request again, with another `Idempotency-Key`.
   */
  more: boolean
}

/** The member, and what they created in the store. */
export interface ChangedMember {
  /** A member of a store. */
  member: Member
  /**
   * The keys they created, and those they rotated whose secret still works: themselves, or with one of these
   * keys. The newest 1,000, in their current state.
   */
  keys: Array<{
    /** The id of the key. */
    id: string
    /** The name of the key. */
    name: string
    /** `ACTIVE`, `DISABLED`, `EXPIRED` or `REVOKED`, after this request. */
    status: string
  }>
  /** The webhooks they created, themselves or with one of their keys, in their current state. */
  webhooks: Array<{
    /** The id of the webhook. */
    id: string
    /** Where its messages are sent. `null` without `MANAGE_WEBHOOKS`. */
    url: string | null
    /** Whether it is enabled after this request. */
    enabled: boolean
  }>
  /**
   * Members who joined by an invitation that they sent, themselves or with one of their keys, with their current
   * role. The newest 1,000. They remain members unless you remove them.
   */
  members: Array<{
    /** The id of the user. */
    userId: string
    /**
     * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
     * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
     * includes.
     */
    role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  }>
  /**
   * The service tokens they issued as an owner that were still working. They keep working unless an owner asks
   * for `keys=revoke`.
   */
  serviceTokens: Array<{
    /** The id of the token. */
    id: string
    /** The back end that uses it. */
    name: string
    /** Whether this request revoked it, with `keys=revoke`. */
    revoked: boolean
  }>
}

/** The result of validating an address. */
export interface CheckedAddress {
  /** Whether the address would be accepted. */
  valid: boolean
  /** The address as it would be stored. `null` if it is not valid. */
  normalized: {
    /** Given name. */
    firstName: string | null
    /** Family name. */
    lastName: string | null
    /** The company, for business customers. */
    company: string | null
    /**
     * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
     * form, an invalid one is kept with a warning.
     */
    taxId: string | null
    /** Street and number, or a PO box. */
    addressLine1: string
    /** Apartment, floor, building and the like. */
    addressLine2: string | null
    /** City or town. */
    city: string | null
    /**
     * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
     * is one.
     */
    state: string | null
    /** Postal code. Returned the way its country writes it. */
    postalCode: string | null
    /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
    country: string
    /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
    phone: string | null
  } | null
  /** The address label, line by line. `null` if it is not valid. */
  formatted: string[] | null
  /**
   * The address as far as it is filled in, valid or not, to show while somebody types. `null` if the country is
   * not known.
   */
  preview: {
    /** Each field in normal form where it is valid, otherwise as it was sent. */
    address: {
      /** Given name. */
      firstName: string | null
      /** Family name. */
      lastName: string | null
      /** The company, for business customers. */
      company: string | null
      /**
       * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
       * form, an invalid one is kept with a warning.
       */
      taxId: string | null
      /** Street and number, or a PO box. */
      addressLine1: string | null
      /** Apartment, floor, building and the like. */
      addressLine2: string | null
      /** City or town. */
      city: string | null
      /**
       * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
       * is one.
       */
      state: string | null
      /** Postal code. Returned the way its country writes it. */
      postalCode: string | null
      /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
      country: string
      /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
      phone: string | null
    }
    /** The address label, line by line, the way its country writes it. */
    formatted: string[]
  } | null
  /** What is wrong with the address. Empty if it is valid. */
  errors: AddressFault[]
  /** What looks wrong but was accepted. */
  warnings: Array<{
    /** The field, as a JSON pointer. */
    pointer: string
    /** A stable code for programs. New codes may be added. */
    code: string
    /** An explanation that you can show to the person filling in the form. */
    detail: string
    /** What may have been meant: the code of a state or a country. */
    suggestion?: string
  }>
}

/** The confirmation of an e-mail address. */
export interface Confirmation {
  /** The token from the link: the part after `#token=`. */
  token: string
}

/** One page of a list. */
export interface Countries {
  /** The items on this page. */
  data: CountrySummary[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

/** The address rules of a country. */
export interface Country {
  /** ISO 3166-1 code of two letters. */
  code: string
  /** ISO 3166-1 code of three letters. */
  alpha3: string
  /** The name in English. */
  name: string
  /** The name in the languages of the country. */
  localNames: string[]
  /** Whether `subdivisions` has states to choose from. */
  hasStates: boolean
  /** Whether it has postal codes. */
  hasPostalCode: boolean
  /** The fields of a form, in the order the country writes them. Other fields are accepted but not needed. */
  fields: CountryField[]
  /** Of each list, at least one field is required. */
  requireOneOf: Array<string[]>
  /** Whether names are written with the family name first. */
  familyNameFirst: boolean
  /** Whether people commonly have a single name. */
  mononyms: boolean
  /** Whether `state` must be one of the subdivisions. Otherwise any other text is accepted, with a warning. */
  onlyListedStates: boolean
  /** The states, provinces or regions. Empty if there are none to choose from. */
  subdivisions: Subdivision[]
}

/** A field of an address form. */
export interface CountryField {
  /** The field of an address. */
  name: string
  /** The label to show, in English, as used in that country. */
  label: string
  /** Whether an address in this country needs it. */
  required: boolean
  /** A regular expression that the normal form matches. */
  pattern?: string
  /** A valid value. */
  example?: string
}

/** A country in short. */
export interface CountrySummary {
  /** ISO 3166-1 code of two letters. */
  code: string
  /** ISO 3166-1 code of three letters. */
  alpha3: string
  /** The name in English. */
  name: string
  /** The name in the languages of the country. */
  localNames: string[]
  /** Whether `subdivisions` has states to choose from. */
  hasStates: boolean
  /** Whether it has postal codes. */
  hasPostalCode: boolean
}

/** Either `add` or `set`. */
export interface CreditChange {
  /** Adds this many. */
  add?: number | undefined
  /** Leaves exactly this many. */
  set?: number | undefined
}

/** A customer the store manages under its own id. */
export interface Customer {
  /** The id of the customer. It is the `userId` of their addresses. */
  id: string
  /** The id that your own system has for them. */
  externalId: string
  /** E-mail address. Not case-sensitive, and not unique: several customers can have the same one. */
  email: string | null
  /** The name of the person or company. */
  name: string | null
  /** When it was created. */
  createdAt: string
  /** When `email` or `name` last changed. */
  updatedAt: string
}

/** The details of a customer. Fields that are left out keep their value; `null` clears a field. */
export interface CustomerChanges {
  /** E-mail address. Not case-sensitive, and not unique: several customers can have the same one. */
  email?: string | null | undefined
  /** The name of the person or company. */
  name?: string | null | undefined
  /**
   * The id of a member with the role `CUSTOMER`, who has an account of their own. The external id is linked to
   * that account.
   */
  userId?: string | undefined
}

/** Everything the store holds about a customer. */
export interface CustomerExport {
  /** When the export was made. */
  exportedAt: string
  /** A customer the store manages under its own id. */
  customer: Customer
  /** Their addresses in this store. */
  addresses: Array<{
    /** The id of the address. */
    id: string
    /** The id of the store. */
    storeId: string
    /** Given name. */
    firstName: string | null
    /** Family name. */
    lastName: string | null
    /** The company, for business customers. */
    company: string | null
    /**
     * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
     * form, an invalid one is kept with a warning.
     */
    taxId: string | null
    /** Street and number, or a PO box. */
    addressLine1: string
    /** Apartment, floor, building and the like. */
    addressLine2: string | null
    /** City or town. */
    city: string | null
    /**
     * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
     * is one.
     */
    state: string | null
    /** Postal code. Returned the way its country writes it. */
    postalCode: string | null
    /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
    country: string
    /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
    phone: string | null
    /** Whether it is the user's default address in this store. */
    isDefault: boolean
    /** The address label, line by line, the way its country writes it. */
    formatted: string[]
    /** What looks wrong but was accepted. */
    warnings: Array<{
      /** The field, as a JSON pointer. */
      pointer: string
      /** A stable code for programs. New codes may be added. */
      code: string
      /** An explanation that you can show to the person filling in the form. */
      detail: string
      /** What may have been meant: the code of a state or a country. */
      suggestion?: string
    }>
    /** Starts at 1 and goes up with every change of the content. Invoices can refer to it. */
    version: number
    /** When it was created. */
    createdAt: string
    /** When it was last changed. */
    updatedAt: string
  }>
  /** Earlier versions of the addresses, including deleted addresses. */
  addressVersions: Array<{
    /** The id of the address. */
    id: string
    /** The id of the store. */
    storeId: string
    /** Given name. */
    firstName: string | null
    /** Family name. */
    lastName: string | null
    /** The company, for business customers. */
    company: string | null
    /**
     * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
     * form, an invalid one is kept with a warning.
     */
    taxId: string | null
    /** Street and number, or a PO box. */
    addressLine1: string
    /** Apartment, floor, building and the like. */
    addressLine2: string | null
    /** City or town. */
    city: string | null
    /**
     * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
     * is one.
     */
    state: string | null
    /** Postal code. Returned the way its country writes it. */
    postalCode: string | null
    /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
    country: string
    /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
    phone: string | null
    /** The address label, line by line, the way its country writes it. */
    formatted: string[]
    /** What looks wrong but was accepted. */
    warnings: Array<{
      /** The field, as a JSON pointer. */
      pointer: string
      /** A stable code for programs. New codes may be added. */
      code: string
      /** An explanation that you can show to the person filling in the form. */
      detail: string
      /** What may have been meant: the code of a state or a country. */
      suggestion?: string
    }>
    /** Starts at 1 and goes up with every change of the content. Invoices can refer to it. */
    version: number
    /** When it was created. */
    createdAt: string
    /** Since when the address had this content. */
    from: string
    /** When it was changed or deleted. */
    until: string
  }>
  /** Which address was the default, and when. */
  addressDefaults: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the address. */
    addressId: string
    /** Since when it was the default. */
    from: string
    /** Until when it was the default. `null`: it still is. */
    until: string | null
  }>
  /**
   * The keys whose `owner` they are. Permissions and metadata of these are in the list of keys, for whoever has
   * `MANAGE_KEYS`.
   */
  keys: Array<{
    /** The id of the key. It is not secret. */
    id: string
    /** A name that tells people what the key is for. It does not have to be unique. */
    name: string
    /**
     * The environment the key is for. It is part of the key: `skp_prod_…`, `skp_test_…`, `skp_dev_…`. Back ends can
     * accept only certain types; otherwise all types work the same.
     */
    type: 'PROD' | 'TEST' | 'DEV' | (string & {})
    /**
     * `ACTIVE`: it works. `DISABLED`: `enabled` is `false`. `EXPIRED`: `expiresAt` has passed. `REVOKED`: it will
     * never work again.
     */
    status: 'ACTIVE' | 'DISABLED' | 'EXPIRED' | 'REVOKED' | (string & {})
    /** When it was created. */
    createdAt: string
    /** When the key stops working. `null`: it does not expire. */
    expiresAt: string | null
    /** When the key was revoked. `null`: it was not. */
    revokedAt: string | null
    /** When the key was last accepted. `null`: never. */
    lastUsedAt: string | null
  }>
  /** Which versions of their addresses are on hold. */
  holds: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the address. */
    addressId: string
    /** The number of the version. */
    version: number
    /** Why the store keeps it. */
    reason: string
    /** When the hold ends and the version is erased as well. */
    until: string
  }>
  /** What happened to the customer in this store, newest first. */
  events: Array<{
    /** The id of the event. */
    id: string
    /** What happened. */
    type: string
    /** When it happened. */
    at: string
    /** What kind of caller it was. */
    by: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** Details, depending on the type. */
    data: Record<string, unknown>
  }>
}

/** A customer to import. */
export interface CustomerLine {
  /** The id that your own system has for them. */
  externalId: string
  /** E-mail address. Not case-sensitive, and not unique: several customers can have the same one. */
  email?: string | null | undefined
  /** The name of the person or company. */
  name?: string | null | undefined
  /** Addresses to add. One that the customer already has is not added again, and none is removed. */
  addresses?: readonly NewAddress[] | undefined
}

/** One page of a list. */
export interface Customers {
  /** The items on this page. */
  data: Customer[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface CustomersAddressesListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

export interface CustomersAddressesVersionsQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

export interface CustomersEraseQuery {
  /**
   * What to do with the keys whose `owner` is the external id: `keep` them, under a random `owner` in its place,
   * or `revoke` them as well.
   */
  keys?: 'keep' | 'revoke' | undefined
}

export interface CustomersListQuery {
  /** The beginning of an `externalId`, or a whole e-mail address. */
  q?: string | undefined
  /** Only the customer with this `id`. */
  id?: string | undefined
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

/** One page of a list. */
export interface Deliveries {
  /** The items on this page. */
  data: Delivery[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface DeliveriesListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
  /** Only deliveries with this status. */
  status?: 'PENDING' | 'DELIVERED' | 'FAILED' | undefined
}

/** A message to a webhook, and the result of sending it. */
export interface Delivery {
  /** The id of the delivery. */
  id: string
  /** The id of the webhook. */
  webhookId: string
  /** The id of the event. Sent as `webhook-id`, the same for every attempt. */
  eventId: string
  /** The type of the event. */
  type: string
  /**
   * Why it was sent. `EVENT`: the event happened. `TEST`: a test message. `REDELIVERY`: somebody asked for it
   * again.
   */
  cause: 'EVENT' | 'TEST' | 'REDELIVERY' | (string & {})
  /**
   * `PENDING`: not delivered yet; see `nextAttemptAt`. `DELIVERED`: the receiver accepted it. `FAILED`: it is not
   * retried automatically.
   */
  status: 'PENDING' | 'DELIVERED' | 'FAILED' | (string & {})
  /** How many attempts were made. */
  attempts: number
  /** The HTTP status of the last attempt. `null` if there was no response. */
  responseStatus: number | null
  /** The first kilobyte of that response. */
  responseBody: string | null
  /**
   * Why there was no response: `timeout`, `forbidden_address`, `unknown_host`, `connection_failed`, `tls_failed`,
   * or `secret_unreadable`.
   */
  error: string | null
  /** How long the last attempt took, in milliseconds. */
  durationMs: number | null
  /** When it was created. */
  createdAt: string
  /** When the last attempt was made. `null`: none yet. */
  lastAttemptAt: string | null
  /** When the next attempt is due. `null`: there is none. */
  nextAttemptAt: string | null
}

/** What is kept after the erasure. */
export interface ErasedCustomer {
  /** The versions of addresses that the store can still read, because it has put them on hold. */
  held: HeldVersion[]
  /**
   * The keys whose `owner` was the external id: at most 1,000, the newest first. Their `owner` is a random value
   * now.
   */
  keys: Array<{
    /** The id of the key. */
    id: string
    /** The name of the key. */
    name: string
    /** `ACTIVE`, `DISABLED`, `EXPIRED` or `REVOKED`, after this request. */
    status: string
  }>
}

/** What an erased user leaves behind. */
export interface ErasedUser {
  /**
   * The keys they created, and those they rotated whose secret still works: themselves, or with one of these
   * keys. The newest 1,000, in their current state.
   */
  keys: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the key. */
    id: string
    /** The name of the key. */
    name: string
    /** `ACTIVE`, `DISABLED`, `EXPIRED` or `REVOKED`, after this request. */
    status: string
  }>
  /** The webhooks they created, themselves or with one of their keys, in their current state. */
  webhooks: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the webhook. */
    id: string
    /** Where its messages are sent. `null` without `MANAGE_WEBHOOKS`. */
    url: string | null
    /** Whether it is enabled after this request. */
    enabled: boolean
  }>
  /**
   * Members who joined by an invitation that they sent, themselves or with one of their keys, with their current
   * role. The newest 1,000. They remain members unless you remove them.
   */
  members: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the user. */
    userId: string
    /**
     * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
     * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
     * includes.
     */
    role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  }>
  /**
   * The service tokens they issued as an owner that were still working. They keep working unless an owner asks
   * for `keys=revoke`.
   */
  serviceTokens: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the token. */
    id: string
    /** The back end that uses it. */
    name: string
    /** Whether this request revoked it, with `keys=revoke`. */
    revoked: boolean
  }>
  /** The versions of addresses that the store can still read, because it has put them on hold. */
  held: HeldVersion[]
}

/** Something that happened in a store. */
export interface Event {
  /** The id of the event. */
  id: string
  /** The id of the store. */
  storeId: string
  /** What happened. New types may be added. */
  type: string
  /** When it happened. */
  at: string
  /** Who did it. */
  actor: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
    /** The credential that was used: the id of a session, or of the key or token itself. */
    credential: string | null
    /** The IP address the request came from. */
    ip: string | null
  }
  /** The id of what it happened to. */
  subject: string
  /** Details, depending on the type. Never a secret and never the text of an address. */
  data: Record<string, unknown>
  /** Its position in the store's chain, counted from 1. `null` until it is sealed, which takes at most 5 seconds. */
  position: number | null
}

/** The head of the hash chain of a store. */
export interface EventHead {
  /** The position of the last sealed event, which is the number of sealed events. */
  seq: number
  /** SHA-256 of the last event and the hash before it, in hexadecimal. Keep a copy outside this service. */
  hash: string
  /** When the last sealed event happened. `null`: there is none. */
  at: string | null
}

/** One page of a list. */
export interface Events {
  /** The items on this page. */
  data: Event[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface EventsListQuery {
  /**
   * Only these types: an exact type such as `key.created`, a prefix such as `key.*`, or several, separated by
   * commas.
   */
  type?: string | undefined
  /** Only events about the resource with this id. */
  subject?: string | undefined
  /** Only what the user, key or service token with this id did. */
  actor?: string | undefined
  /** Only events at this time or later. */
  from?: string | Date | undefined
  /** Only events before this time. */
  to?: string | Date | undefined
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

export interface EventsStreamQuery {
  /**
   * Only these types: an exact type such as `key.created`, a prefix such as `key.*`, or several, separated by
   * commas.
   */
  type?: string | undefined
  /** Only events about the resource with this id. */
  subject?: string | undefined
  /** The id of the last event you received. The header `Last-Event-ID` takes precedence. */
  after?: string | undefined
}

/** Everything the service holds about you. */
export interface Export {
  /** When the export was made. */
  exportedAt: string
  /** Your account. */
  user: {
    /** The id of the user. */
    id: string
    /**
     * The e-mail address. `null` if it is still `pendingEmail`, or if the identity provider sent no address or one
     * that another account has.
     */
    email: string | null
    /** Whether the user confirmed the address with a link sent to it, or their identity provider verified it. */
    emailVerified: boolean
    /** A new e-mail address that replaces `email` once it is confirmed. `null` if there is none. */
    pendingEmail: string | null
    /** The name the user entered, or the one from their identity provider. */
    name: string | null
    /** Which e-mails the user gets. Mails about a changed password, e-mail address or second factor are always sent. */
    mail: MailSwitches
    /** The second factors of the account. If there are any, a password alone is not enough to sign in. */
    secondFactor: {
      /** Whether an authenticator app is set up. */
      totp: boolean
      /** The number of passkeys. */
      passkeys: number
      /** The number of recovery codes that have not been used. */
      recoveryCodesLeft: number
    }
    /** When it was created. */
    createdAt: string
    /** The `iss` of your identity provider, if you sign in with one. */
    issuer: string | null
    /** Your `sub` at that provider. */
    subject: string | null
    /** When it was last changed. */
    updatedAt: string
  }
  /** Your sessions. */
  sessions: Array<{
    /** The id of the session. */
    id: string
    /** How the user signed in. `oidc` is single sign-on. */
    method: 'password' | 'passkey' | 'oidc' | (string & {})
    /** The `User-Agent` of the browser or program that signed in. */
    userAgent: string | null
    /** The IP address the user signed in from. */
    ip: string | null
    /** When the user signed in. */
    createdAt: string
    /** When it was last used, to five minutes. */
    lastUsedAt: string
    /** When the session expires. */
    expiresAt: string
  }>
  /** The stores you are a member of. */
  memberships: Array<{
    /** The id of the store. */
    storeId: string
    /** The name of the store. */
    storeName: string
    /** The role in the store. */
    role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
    /** The permissions in the store. */
    permissions: string[]
    /** When you joined. */
    createdAt: string
    /** When it was last changed. */
    updatedAt: string
  }>
  /** Your last membership in each store that you left or were removed from. */
  formerMemberships: Array<{
    /** The id of the store. */
    storeId: string
    /** The name that the store had when the membership ended. Empty if it is not known. */
    storeName: string
    /** The role in the store. */
    role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
    /** The permissions in the store. */
    permissions: string[]
    /** When you joined. */
    createdAt: string
    /** When it was last changed. */
    updatedAt: string
    /** When it ended. */
    endedAt: string
  }>
  /** Your passkeys, without their public keys. */
  passkeys: Passkey[]
  /** Invitations sent to your e-mail address, or accepted by you. */
  invitations: Array<{
    /** The id of the invitation. */
    id: string
    /** The id of the store. */
    storeId: string
    /** The e-mail address it was sent to. */
    email: string | null
    /** The role in the store. */
    role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
    /** The permissions in the store. */
    permissions: string[]
    /** When it was created. */
    createdAt: string
    /** When it expires. */
    expiresAt: string
    /** When you accepted it. `null`: you did not. */
    acceptedAt: string | null
    /** When it was withdrawn. `null`: it was not. */
    withdrawnAt: string | null
  }>
  /** What stores that have linked you to one of their customers keep about you. */
  customerRecords: Array<{
    /** The id of the store. */
    storeId: string
    /** The id that your own system has for them. */
    externalId: string
    /** E-mail address. Not case-sensitive, and not unique: several customers can have the same one. */
    email: string | null
    /** The name of the person or company. */
    name: string | null
    /** When it was created. */
    createdAt: string
    /** When `email` or `name` last changed. */
    updatedAt: string
  }>
  /** Your addresses in every store, including stores you are no longer a member of. */
  addresses: Array<{
    /** The id of the address. */
    id: string
    /** The id of the store. */
    storeId: string
    /** Given name. */
    firstName: string | null
    /** Family name. */
    lastName: string | null
    /** The company, for business customers. */
    company: string | null
    /**
     * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
     * form, an invalid one is kept with a warning.
     */
    taxId: string | null
    /** Street and number, or a PO box. */
    addressLine1: string
    /** Apartment, floor, building and the like. */
    addressLine2: string | null
    /** City or town. */
    city: string | null
    /**
     * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
     * is one.
     */
    state: string | null
    /** Postal code. Returned the way its country writes it. */
    postalCode: string | null
    /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
    country: string
    /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
    phone: string | null
    /** Whether it is the user's default address in this store. */
    isDefault: boolean
    /** The address label, line by line, the way its country writes it. */
    formatted: string[]
    /** What looks wrong but was accepted. */
    warnings: Array<{
      /** The field, as a JSON pointer. */
      pointer: string
      /** A stable code for programs. New codes may be added. */
      code: string
      /** An explanation that you can show to the person filling in the form. */
      detail: string
      /** What may have been meant: the code of a state or a country. */
      suggestion?: string
    }>
    /** Starts at 1 and goes up with every change of the content. Invoices can refer to it. */
    version: number
    /** When it was created. */
    createdAt: string
    /** When it was last changed. */
    updatedAt: string
  }>
  /** Earlier versions of your addresses, including deleted addresses. Invoices may refer to them. */
  addressVersions: Array<{
    /** The id of the address. */
    id: string
    /** The id of the store. */
    storeId: string
    /** Given name. */
    firstName: string | null
    /** Family name. */
    lastName: string | null
    /** The company, for business customers. */
    company: string | null
    /**
     * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
     * form, an invalid one is kept with a warning.
     */
    taxId: string | null
    /** Street and number, or a PO box. */
    addressLine1: string
    /** Apartment, floor, building and the like. */
    addressLine2: string | null
    /** City or town. */
    city: string | null
    /**
     * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
     * is one.
     */
    state: string | null
    /** Postal code. Returned the way its country writes it. */
    postalCode: string | null
    /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
    country: string
    /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
    phone: string | null
    /** The address label, line by line, the way its country writes it. */
    formatted: string[]
    /** What looks wrong but was accepted. */
    warnings: Array<{
      /** The field, as a JSON pointer. */
      pointer: string
      /** A stable code for programs. New codes may be added. */
      code: string
      /** An explanation that you can show to the person filling in the form. */
      detail: string
      /** What may have been meant: the code of a state or a country. */
      suggestion?: string
    }>
    /** Starts at 1 and goes up with every change of the content. Invoices can refer to it. */
    version: number
    /** When it was created. */
    createdAt: string
    /** Since when the address had this content. */
    from: string
    /** When it was changed or deleted. */
    until: string
  }>
  /** Which of your addresses was the default, and when, including deleted ones. */
  addressDefaults: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the address. */
    addressId: string
    /** Since when it was the default. */
    from: string
    /** Until when it was the default. `null`: it still is. */
    until: string | null
  }>
  /** The versions of your addresses that stores have put on hold, and why. */
  addressHolds: Array<{
    /** The id of the store. */
    storeId: string
    /** The id of the address. */
    addressId: string
    /** The number of the version. */
    version: number
    /** Why the store keeps it. */
    reason: string
    /** When the hold ends and the version is erased as well. */
    until: string
  }>
  /** What you did, newest first. */
  events: Array<{
    /** The id of the event. */
    id: string
    /** The id of the store. `null` for events of an account. */
    storeId: string | null
    /** What happened. */
    type: string
    /** When it happened. */
    at: string
    /** The id of what it happened to. */
    subject: string
    /** The IP address you did it from. */
    ip: string | null
  }>
  /** What others did to your memberships, then to invitations sent to you; each newest first. */
  eventsByOthers: Array<{
    /** The id of the event. */
    id: string
    /** The id of the store. `null` for events of an account. */
    storeId: string | null
    /** What happened. */
    type: string
    /** When it happened. */
    at: string
    /** The id of what it happened to. */
    subject: string
    /** What kind of caller it was. Their identity is not part of your data. */
    by: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** Details, depending on the type: for a changed role, the old one and the new one. */
    data: Record<string, unknown>
  }>
}

/** What you can give to a key. */
export interface Grantable {
  /** The permissions you can grant: those you have yourself. */
  permissions: string[]
  /** The types of key you can create. */
  types: Array<'PROD' | 'TEST' | 'DEV' | (string & {})>
}

/** A version of an address that is on hold. */
export interface HeldVersion {
  /** The id of the address. */
  addressId: string
  /** The number of the version. */
  version: number
  /** Why the store keeps it. */
  reason: string
  /** When the hold ends and the version is erased as well. */
  until: string
}

/** Customers to import, each of which succeeds or fails on its own. */
export interface Import {
  /** The customers to create or update. */
  customers: readonly CustomerLine[]
}

/** The result for one customer. */
export interface ImportResult {
  /** The external id as you sent it. `null` if there was none. */
  externalId: string | null
  /**
   * `created`: the customer is new. `updated`: the customer already existed, whether or not anything changed.
   * `failed`: nothing was written; see `errors`.
   */
  status: 'created' | 'updated' | 'failed' | (string & {})
  /**
   * Why it failed: at most 32 errors, with pointers into the request. After 5,000 errors of all lines together,
   * one for each line.
   */
  errors?: AddressFault[]
}

/** The result for each customer. */
export interface ImportResults {
  /** One result for each customer in the request, in the same order. */
  results: ImportResult[]
}

/** An introspection response (RFC 7662). */
export interface Introspected {
  /** Whether to let the caller in. The other fields are present only if it is `true`. */
  active: boolean
  /** The permissions of the key, separated by spaces. */
  scope?: string
  /** The id of the key. */
  client_id?: string
  /** The id of the key. */
  sub?: string
  /** The id of the store. */
  aud?: string
  /** Always `Bearer`. */
  token_type?: string
  /** Your own id for whoever the key belongs to. Absent if none was set. */
  owner?: string
  /** When the key expires, in seconds since 1970. Absent if it does not. */
  exp?: number
}

/** An introspection request (RFC 7662). */
export interface Introspection {
  /** The full key your caller sent. */
  token: string
  /** Accepted for compatibility with RFC 7662, and ignored. */
  token_type_hint?: string | undefined
  /** Your caller's IP address. Without it, a key with an allowlist is `FORBIDDEN_IP`. */
  ip?: string | undefined
  /**
   * The store the key must belong to: a key of any other store is `NOT_FOUND`. Required unless your service token
   * is bound to a single store.
   */
  store_id?: string | undefined
  /** `true`: accept a key of any store your service token covers. */
  any_store?: 'true' | 'false' | undefined
  /** The key types you accept, separated by spaces. */
  types?: string | undefined
  /** The permissions the key must have, separated by spaces. */
  scope?: string | undefined
}

/** An invitation to a store, without its token. */
export interface Invitation {
  /** The id of the invitation. */
  id: string
  /** The id of the store. */
  storeId: string
  /** The e-mail address of the person who is invited. */
  email: string
  /**
   * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
   * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
   * includes.
   */
  role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  /** The permissions they will have. */
  permissions: string[]
  /** When it was created. */
  createdAt: string
  /** Who invited them. */
  createdBy: {
    /** `user` or `key`. */
    kind: string
    /** The id of that user or key. */
    id: string
  }
  /** When the invitation expires: 7 days after it was created. */
  expiresAt: string
}

/** What the holder of a token learns of their invitation before they accept it. */
export interface InvitationPreview {
  /** The store that the holder is invited to. */
  store: {
    /** The id of the store. */
    id: string
    /** The name of the store. */
    name: string
  }
  /**
   * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
   * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
   * includes.
   */
  role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  /** When the invitation expires: 7 days after it was created. */
  expiresAt: string
}

/** An invitation with its token, which is shown only once. */
export interface InvitationWithToken {
  /** The id of the invitation. */
  id: string
  /** The id of the store. */
  storeId: string
  /** The e-mail address of the person who is invited. */
  email: string
  /**
   * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
   * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
   * includes.
   */
  role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  /** The permissions they will have. */
  permissions: string[]
  /** When it was created. */
  createdAt: string
  /** Who invited them. */
  createdBy: {
    /** `user` or `key`. */
    kind: string
    /** The id of that user or key. */
    id: string
  }
  /** When the invitation expires: 7 days after it was created. */
  expiresAt: string
  /** The token the person accepts the invitation with. It is shown only once. */
  token: string
  /** Whether it was mailed as well: where the service sends mail, up to 5 times a day to one address. */
  mailed: boolean
}

/** One page of a list. */
export interface Invitations {
  /** The items on this page. */
  data: Invitation[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface InvitationsListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

/** A billing address, as the store sees it. */
export interface InvoiceAddress {
  /** The id of the address. */
  id: string
  /** The id of the store. */
  storeId: string
  /** The id of the user or customer the address belongs to. */
  userId: string
  /** Given name. */
  firstName: string | null
  /** Family name. */
  lastName: string | null
  /** The company, for business customers. */
  company: string | null
  /**
   * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
   * form, an invalid one is kept with a warning.
   */
  taxId: string | null
  /** Street and number, or a PO box. */
  addressLine1: string | null
  /** Apartment, floor, building and the like. */
  addressLine2: string | null
  /** City or town. */
  city: string | null
  /**
   * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
   * is one.
   */
  state: string | null
  /** Postal code. Returned the way its country writes it. */
  postalCode: string | null
  /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
  country: string
  /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
  phone: string | null
  /** The address label, line by line, the way its country writes it. */
  formatted: string[]
  /** What looks wrong but was accepted. */
  warnings: Array<{
    /** The field, as a JSON pointer. */
    pointer: string
    /** A stable code for programs. New codes may be added. */
    code: string
    /** An explanation that you can show to the person filling in the form. */
    detail: string
    /** What may have been meant: the code of a state or a country. */
    suggestion?: string
  }>
  /** Starts at 1 and goes up with every change of the content. Invoices can refer to it. */
  version: number
  /** When it was created. */
  createdAt: string
  /** When it was last changed. */
  updatedAt: string
  /**
   * `true` if its user was erased: only country, state and postal code are left, and all other fields are `null`
   * or empty.
   */
  erased: boolean
  /** Whether it is the user's default address in this store. */
  isDefault: boolean
}

/** One page of a list. */
export interface InvoiceAddresses {
  /** The items on this page. */
  data: InvoiceAddress[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface InvoicingListQuery {
  /** The id of the user or customer. */
  userId: string
  /** Show the address, and which one was the default, as of this time. Defaults to now. */
  at?: string | Date | undefined
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

export interface InvoicingReadQuery {
  /** Show the address, and which one was the default, as of this time. Defaults to now. */
  at?: string | Date | undefined
}

export interface InvoicingVersionsQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

/** An API key, without its secret. */
export interface Key {
  /** The id of the key. It is not secret. */
  id: string
  /** The id of the store. */
  storeId: string
  /** A name that tells people what the key is for. It does not have to be unique. */
  name: string
  /**
   * The environment the key is for. It is part of the key: `skp_prod_…`, `skp_test_…`, `skp_dev_…`. Back ends can
   * accept only certain types; otherwise all types work the same.
   */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {})
  /** What the key is allowed to do in its store. You can grant only permissions that you have yourself. */
  permissions: string[]
  /**
   * Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must
   * be a string of at most 500 characters.
   */
  metadata: Record<string, unknown>
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere. */
  ipAllowlist: string[] | null
  /** How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit. */
  rateLimit: {
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
  } | null
  /**
   * Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events
   * never contain it.
   */
  owner: string | null
  /** Credits that verifications of the key spend. `null`: the key needs none. */
  credits: {
    /** How many credits are left. */
    remaining: number
    /** Automatic refills. `null`: there are none. */
    refill?: {
      /** What `remaining` is set to. If more than that is left, it stays. */
      amount: number
      /** How often: at the beginning of every hour, day or month, in UTC. */
      interval: 'HOUR' | 'DAY' | 'MONTH' | (string & {})
      /** Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day. */
      dayOfMonth?: number
    } | null
  } | null
  /** Rate limits beside `rateLimit`. A verification spends all of them, or those that it names. */
  rateLimits: Array<{
    /** The name of the limit, by which a verification refers to it. */
    name: string
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
    /**
     * `owner`: all keys of the same `owner` in the store that have a limit of this name and window share one
     * window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.
     */
    shared?: 'owner' | (string & {}) | null
  }>
  /**
   * The first characters of the key, so that people can tell keys apart. Of an imported key at most 4, and none
   * if its value was short or not sent.
   */
  start: string
  /**
   * `ACTIVE`: it works. `DISABLED`: `enabled` is `false`. `EXPIRED`: `expiresAt` has passed. `REVOKED`: it will
   * never work again.
   */
  status: 'ACTIVE' | 'DISABLED' | 'EXPIRED' | 'REVOKED' | (string & {})
  /** Whether the key is enabled. A disabled key can be enabled again. */
  enabled: boolean
  /** When it was created. */
  createdAt: string
  /** Who created the key. */
  createdBy: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** When it was last changed. */
  updatedAt: string
  /** When the key was last accepted. `null`: never. */
  lastUsedAt: string | null
  /** When the key was revoked. `null`: it was not. */
  revokedAt: string | null
  /** Why the key was revoked, if a reason was given. */
  revocationReason: string | null
  /** Whether the key was created elsewhere and imported. Until it is rotated, it can only be verified. */
  imported: boolean
  /** Set while the secret from before the last rotation still works; otherwise `null`. */
  rotation: {
    /** When the previous secret stops working. */
    previousExpiresAt: string
    /** When the previous secret was last accepted. `null`: not since the rotation. */
    previousLastUsedAt: string | null
  } | null
}

/** Changes to an API key. Fields that are left out keep their value. */
export interface KeyChanges {
  /** A name that tells people what the key is for. It does not have to be unique. */
  name?: string | undefined
  /** What the key is allowed to do in its store. You can grant only permissions that you have yourself. */
  permissions?: readonly string[] | undefined
  /**
   * Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must
   * be a string of at most 500 characters.
   */
  metadata?: Record<string, unknown> | undefined
  /** Rate limits beside `rateLimit`. A verification spends all of them, or those that it names. */
  rateLimits?:
    | ReadonlyArray<{
        /** The name of the limit, by which a verification refers to it. */
        name: string
        /** How many verifications a window allows. */
        limit: number
        /** The length of a window, in seconds. */
        windowSeconds: number
        /**
         * `owner`: all keys of the same `owner` in the store that have a limit of this name and window share one
         * window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.
         */
        shared?: 'owner' | null | undefined
      }>
    | undefined
  /** Whether the key is enabled. A disabled key can be enabled again. */
  enabled?: boolean | undefined
  /** When the key stops working. `null`: it does not expire. */
  expiresAt?: string | Date | null | undefined
  /** The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere. */
  ipAllowlist?: readonly string[] | null | undefined
  /** How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit. */
  rateLimit?:
    | {
        /** How many verifications a window allows. */
        limit: number
        /** The length of a window, in seconds. */
        windowSeconds: number
      }
    | null
    | undefined
  /**
   * Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events
   * never contain it.
   */
  owner?: string | null | undefined
  /**
   * Credits that verifications of the key spend. What is left out, `remaining` or `refill`, stays as it is.
   * `null`: the key needs none.
   */
  credits?:
    | {
        /** How many credits are left. */
        remaining?: number | undefined
        /** Automatic refills. `null`: there are none. */
        refill?:
          | {
              /** What `remaining` is set to. If more than that is left, it stays. */
              amount: number
              /** How often: at the beginning of every hour, day or month, in UTC. */
              interval: 'HOUR' | 'DAY' | 'MONTH'
              /** Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day. */
              dayOfMonth?: number | undefined
            }
          | null
          | undefined
      }
    | null
    | undefined
}

/** Keys to import, each of which succeeds or fails on its own. */
export interface KeyImport {
  /** The keys to import. */
  keys: readonly KeyLine[]
}

/** What became of one key. */
export interface KeyImportResult {
  /** The position of the key in the request, from 0. */
  index: number
  /** The id of the key. Absent if it failed. */
  id?: string
  /**
   * `created`: the key was imported. `exists`: the store has, or had, a key with this value; it was not changed,
   * whatever its state. `failed`: nothing was written; see `errors`.
   */
  status: 'created' | 'exists' | 'failed' | (string & {})
  /**
   * Why it failed: at most 32 errors, with pointers into the request. After 5,000 errors of all lines together,
   * one for each line.
   */
  errors?: Array<{
    /** The field, as a JSON pointer. */
    pointer: string
    /** A stable code for programs. */
    code: string
    /** An explanation in words. */
    detail: string
    /** A valid value. */
    example?: string
    /** What may have been meant: a field or a value. */
    suggestion?: string
  }>
}

/** What became of each key. */
export interface KeyImportResults {
  /** One result for each key in the request, in the same order. */
  results: KeyImportResult[]
}

/** A key to import: `value` or `sha256`, and the settings of a new key. */
export interface KeyLine {
  /**
   * The key as its holder has it: 8 to 512 visible ASCII characters, not of our own form, nor that of a JWT. It
   * is not stored.
   */
  value?: string | undefined
  /** Instead of `value`: the SHA-256 of it, in hex, base64 or base64url. */
  sha256?: string | undefined
  /** A name that tells people what the key is for. It does not have to be unique. */
  name: string
  /**
   * The environment the key is for. It is part of the key: `skp_prod_…`, `skp_test_…`, `skp_dev_…`. Back ends can
   * accept only certain types; otherwise all types work the same.
   */
  type: 'PROD' | 'TEST' | 'DEV'
  /** What the key is allowed to do in its store. You can grant only permissions that you have yourself. */
  permissions: readonly string[]
  /**
   * Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must
   * be a string of at most 500 characters.
   */
  metadata?: Record<string, unknown> | undefined
  /** Rate limits beside `rateLimit`. A verification spends all of them, or those that it names. */
  rateLimits?:
    | ReadonlyArray<{
        /** The name of the limit, by which a verification refers to it. */
        name: string
        /** How many verifications a window allows. */
        limit: number
        /** The length of a window, in seconds. */
        windowSeconds: number
        /**
         * `owner`: all keys of the same `owner` in the store that have a limit of this name and window share one
         * window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.
         */
        shared?: 'owner' | null | undefined
      }>
    | undefined
  /** When the key stops working. `null`: it does not expire. */
  expiresAt?: string | Date | null | undefined
  /** The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere. */
  ipAllowlist?: readonly string[] | null | undefined
  /** How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit. */
  rateLimit?:
    | {
        /** How many verifications a window allows. */
        limit: number
        /** The length of a window, in seconds. */
        windowSeconds: number
      }
    | null
    | undefined
  /**
   * Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events
   * never contain it.
   */
  owner?: string | null | undefined
  /** Credits that verifications of the key spend. `null`: the key needs none. */
  credits?:
    | {
        /** How many credits are left. */
        remaining: number
        /** Automatic refills. `null`: there are none. */
        refill?:
          | {
              /** What `remaining` is set to. If more than that is left, it stays. */
              amount: number
              /** How often: at the beginning of every hour, day or month, in UTC. */
              interval: 'HOUR' | 'DAY' | 'MONTH'
              /** Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day. */
              dayOfMonth?: number | undefined
            }
          | null
          | undefined
      }
    | null
    | undefined
  /** Whether the key is switched on. A disabled key can be enabled again. */
  enabled?: boolean | undefined
}

/** How often a key was verified. */
export interface KeyUsage {
  /** The start of the first interval. Included. */
  from: string
  /** The end of the last interval. Not included. */
  to: string
  /** The length of an interval. Hours and days are in UTC. */
  interval: 'hour' | 'day' | (string & {})
  /** The counts, oldest first. Intervals without any use are left out. */
  data: Array<{
    /** The start of the hour or day. */
    at: string
    /** The number of verifications, by the `code` of the verdict. */
    counts: Record<string, number>
  }>
  /** The same counts by secret. Use it to see who still uses the old secret after a rotation. */
  bySecret: {
    /** The use of one secret. `null`: there is no such secret, because the key was never rotated. */
    current: {
      /** The number of verifications, by the `code` of the verdict. */
      counts: Record<string, number>
      /** When this secret was last accepted. `null`: never. */
      lastUsedAt: string | null
      /** Where this secret was accepted from in the last 90 days: the 20 most recent places. */
      sources: Array<{
        /** The IP address of the back end's caller. `null`: the back end did not send it. */
        ip: string | null
        /** The id of the service token that was used to verify it. `null`: the key was used to call this API. */
        service: string | null
        /** When this secret was last accepted from there. */
        lastUsedAt: string
      }>
    }
    /** The use of one secret. `null`: there is no such secret, because the key was never rotated. */
    previous: {
      /** The number of verifications, by the `code` of the verdict. */
      counts: Record<string, number>
      /** When this secret was last accepted. `null`: never. */
      lastUsedAt: string | null
      /** Where this secret was accepted from in the last 90 days: the 20 most recent places. */
      sources: Array<{
        /** The IP address of the back end's caller. `null`: the back end did not send it. */
        ip: string | null
        /** The id of the service token that was used to verify it. `null`: the key was used to call this API. */
        service: string | null
        /** When this secret was last accepted from there. */
        lastUsedAt: string
      }>
    } | null
  }
}

/** An API key with its secret, which is shown only once. */
export interface KeyWithSecret {
  /** The id of the key. It is not secret. */
  id: string
  /** The id of the store. */
  storeId: string
  /** A name that tells people what the key is for. It does not have to be unique. */
  name: string
  /**
   * The environment the key is for. It is part of the key: `skp_prod_…`, `skp_test_…`, `skp_dev_…`. Back ends can
   * accept only certain types; otherwise all types work the same.
   */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {})
  /** What the key is allowed to do in its store. You can grant only permissions that you have yourself. */
  permissions: string[]
  /**
   * Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must
   * be a string of at most 500 characters.
   */
  metadata: Record<string, unknown>
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere. */
  ipAllowlist: string[] | null
  /** How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit. */
  rateLimit: {
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
  } | null
  /**
   * Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events
   * never contain it.
   */
  owner: string | null
  /** Credits that verifications of the key spend. `null`: the key needs none. */
  credits: {
    /** How many credits are left. */
    remaining: number
    /** Automatic refills. `null`: there are none. */
    refill?: {
      /** What `remaining` is set to. If more than that is left, it stays. */
      amount: number
      /** How often: at the beginning of every hour, day or month, in UTC. */
      interval: 'HOUR' | 'DAY' | 'MONTH' | (string & {})
      /** Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day. */
      dayOfMonth?: number
    } | null
  } | null
  /** Rate limits beside `rateLimit`. A verification spends all of them, or those that it names. */
  rateLimits: Array<{
    /** The name of the limit, by which a verification refers to it. */
    name: string
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
    /**
     * `owner`: all keys of the same `owner` in the store that have a limit of this name and window share one
     * window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.
     */
    shared?: 'owner' | (string & {}) | null
  }>
  /**
   * The first characters of the key, so that people can tell keys apart. Of an imported key at most 4, and none
   * if its value was short or not sent.
   */
  start: string
  /**
   * `ACTIVE`: it works. `DISABLED`: `enabled` is `false`. `EXPIRED`: `expiresAt` has passed. `REVOKED`: it will
   * never work again.
   */
  status: 'ACTIVE' | 'DISABLED' | 'EXPIRED' | 'REVOKED' | (string & {})
  /** Whether the key is enabled. A disabled key can be enabled again. */
  enabled: boolean
  /** When it was created. */
  createdAt: string
  /** Who created the key. */
  createdBy: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** When it was last changed. */
  updatedAt: string
  /** When the key was last accepted. `null`: never. */
  lastUsedAt: string | null
  /** When the key was revoked. `null`: it was not. */
  revokedAt: string | null
  /** Why the key was revoked, if a reason was given. */
  revocationReason: string | null
  /** Whether the key was created elsewhere and imported. Until it is rotated, it can only be verified. */
  imported: boolean
  /** Set while the secret from before the last rotation still works; otherwise `null`. */
  rotation: {
    /** When the previous secret stops working. */
    previousExpiresAt: string
    /** When the previous secret was last accepted. `null`: not since the rotation. */
    previousLastUsedAt: string | null
  } | null
  /** The full key. Store it now: it is not shown again. */
  key: string
}

/** One page of a list. */
export interface Keys {
  /** The items on this page. */
  data: Key[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface KeysListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
  /** Only keys with this status. */
  status?: 'ACTIVE' | 'DISABLED' | 'EXPIRED' | 'REVOKED' | undefined
  /** Only keys of this type. */
  type?: 'PROD' | 'TEST' | 'DEV' | undefined
  /** Only keys whose name contains this, or whose `start` begins with it. */
  q?: string | undefined
  /** Only keys that the user or key with this id created. */
  createdBy?: string | undefined
  /** Only keys of this owner. */
  owner?: string | undefined
}

export interface KeysRevokeQuery {
  /** Why the key is revoked. Stored with the key. */
  reason?: string | undefined
  /**
   * What to do with the keys and webhooks created with it, and with keys it rotated: `keep` them, or `revoke`
   * them.
   */
  made?: 'keep' | 'revoke' | undefined
}

export interface KeysStoreUsageQuery {
  /** The start of the period. Defaults to one day before `to`, or 30 days with `interval=day`. */
  from?: string | Date | undefined
  /** The end of the period. Defaults to now. */
  to?: string | Date | undefined
  /** The length of an interval. Defaults to `hour`. */
  interval?: 'hour' | 'day' | undefined
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

export interface KeysUsageQuery {
  /** The start of the period. Defaults to one day before `to`, or 30 days with `interval=day`. */
  from?: string | Date | undefined
  /** The end of the period. Defaults to now. */
  to?: string | Date | undefined
  /** The length of an interval. Defaults to `hour`. */
  interval?: 'hour' | 'day' | undefined
}

/** The report was received. */
export interface LeakAccepted {
  /** Always `true`, whether or not there is such a key. */
  accepted: boolean
}

/** A key that leaked. */
export interface LeakReport {
  /** The full key that leaked. */
  key: string
}

/** A verdict, and whether it may be kept. */
export type LeasedVerdict = ValidLeasedVerdict | RefusedLeasedVerdict

/** Let the caller in. */
export interface ValidLeasedVerdict {
  /** Whether to let the caller in: `true` exactly when `code` is `VALID`. */
  valid: true
  /**
   * `VALID`: let the caller in. `NOT_FOUND`: no such key, or not one of this store. `REVOKED`, `EXPIRED`,
   * `DISABLED`: the state of the key. `FROZEN`: all keys of the store are frozen. `WRONG_TYPE`: not one of
   * `types`. `FORBIDDEN_IP`: not on the allowlist. `INSUFFICIENT_PERMISSIONS`: a permission you asked for is
   * missing. `USAGE_EXCEEDED`: the key has too few credits. `RATE_LIMITED`: try again after
   * `rateLimit.resetSeconds`, or that of the limit in `limits`.
   */
  code: 'VALID'

  /** The id of the key. `null` with `NOT_FOUND`, as are the fields below. */
  keyId: string
  /** The id of the store. */
  storeId: string
  /** The key's name. */
  name: string
  /** The key's type. */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {})
  /** All permissions of the key, not only those you asked for. */
  permissions: string[]
  /** The key's metadata. */
  metadata: Record<string, unknown>
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** Your own id for whoever the key belongs to. `null`: none was set. */
  owner: string | null
  /** The state of the rate limit. Present only for a key that has one. */
  rateLimit?: {
    /** How many verifications a window allows. */
    limit: number
    /** How many are left in this window. */
    remaining: number
    /** Seconds until the window ends. Send it on as `Retry-After`. */
    resetSeconds: number
  }
  /** The state of the credits. Present only for a key that has credits. */
  credits?: {
    /** What is left after this verification. */
    remaining: number
    /** The next refill. `null`: there is none. */
    refillsAt: string | null
  }
  /**
   * The state of each limit that was checked. Absent or empty if there was none, and absent if the key has only
   * `rateLimit` and you named no limits.
   */
  limits?: Array<{
    /** The name of the limit. */
    name: string
    /** How much a window allows. */
    limit: number
    /** What is left in this window. */
    remaining: number
    /** When the window ends, in seconds from now. */
    resetSeconds: number
    /** Whether this limit refused the request. */
    exceeded: boolean
  }>
  /**
   * The moment this answer is of. Present only if the database did not respond and you accepted that with
   * `maxStaleSeconds`.
   */
  asOf?: string
  /**
   * Permissions in your request that do not exist, so that no key can have them: most likely typos. Present only
   * if there are any.
   */
  unknownPermissions?: string[]
  /** Every check, in order. Present only with `explain`. */
  checks?: Array<{
    /** The code that a failure of this check would give. */
    code:
      | 'VALID'
      | 'NOT_FOUND'
      | 'REVOKED'
      | 'EXPIRED'
      | 'DISABLED'
      | 'FROZEN'
      | 'WRONG_TYPE'
      | 'FORBIDDEN_IP'
      | 'INSUFFICIENT_PERMISSIONS'
      | 'USAGE_EXCEEDED'
      | 'RATE_LIMITED'
      | (string & {})
    /** Whether the key passed. */
    ok: boolean
    /** The result in words, for people. */
    detail: string
  }>
  /** On what terms you may keep the verdict. `null`: do not keep it. */
  lease: {
    /**
     * How old the knowledge behind the verdict was when your question arrived. The verdict holds for the moment you
     * sent the question, minus this.
     */
    ageMs: number
    /**
     * How long the key, or the grace period of this secret, lasts, counted from when you sent the question. `null`:
     * without end.
     */
    validForMs: number | null
    /** The number of the key's secret that was presented, for reports of use. */
    secret: number
    /** Whether the verdict holds for the `ip` you sent only. */
    byAddress: boolean
    /** The node that responded, as in `hello`. */
    node: string
    /**
     * Names the permissions that exist and the stores of your service token, as in `hello`. Keep the verdict only
     * if both are equal.
     */
    catalogue: string
  } | null
}

/** Do not let the caller in. */
export interface RefusedLeasedVerdict {
  /** Whether to let the caller in: `true` exactly when `code` is `VALID`. */
  valid: false
  /**
   * `VALID`: let the caller in. `NOT_FOUND`: no such key, or not one of this store. `REVOKED`, `EXPIRED`,
   * `DISABLED`: the state of the key. `FROZEN`: all keys of the store are frozen. `WRONG_TYPE`: not one of
   * `types`. `FORBIDDEN_IP`: not on the allowlist. `INSUFFICIENT_PERMISSIONS`: a permission you asked for is
   * missing. `USAGE_EXCEEDED`: the key has too few credits. `RATE_LIMITED`: try again after
   * `rateLimit.resetSeconds`, or that of the limit in `limits`.
   */
  code:
    | 'NOT_FOUND'
    | 'REVOKED'
    | 'EXPIRED'
    | 'DISABLED'
    | 'FROZEN'
    | 'WRONG_TYPE'
    | 'FORBIDDEN_IP'
    | 'INSUFFICIENT_PERMISSIONS'
    | 'USAGE_EXCEEDED'
    | 'RATE_LIMITED'
    | (string & {})

  /** The id of the key. `null` with `NOT_FOUND`, as are the fields below. */
  keyId: string | null
  /** The id of the store. */
  storeId: string | null
  /** The key's name. */
  name: string | null
  /** The key's type. */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {}) | null
  /** All permissions of the key, not only those you asked for. */
  permissions: string[] | null
  /** The key's metadata. */
  metadata: Record<string, unknown> | null
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** Your own id for whoever the key belongs to. `null`: none was set. */
  owner: string | null
  /** The state of the rate limit. Present only for a key that has one. */
  rateLimit?: {
    /** How many verifications a window allows. */
    limit: number
    /** How many are left in this window. */
    remaining: number
    /** Seconds until the window ends. Send it on as `Retry-After`. */
    resetSeconds: number
  }
  /** The state of the credits. Present only for a key that has credits. */
  credits?: {
    /** What is left after this verification. */
    remaining: number
    /** The next refill. `null`: there is none. */
    refillsAt: string | null
  }
  /**
   * The state of each limit that was checked. Absent or empty if there was none, and absent if the key has only
   * `rateLimit` and you named no limits.
   */
  limits?: Array<{
    /** The name of the limit. */
    name: string
    /** How much a window allows. */
    limit: number
    /** What is left in this window. */
    remaining: number
    /** When the window ends, in seconds from now. */
    resetSeconds: number
    /** Whether this limit refused the request. */
    exceeded: boolean
  }>
  /**
   * The moment this answer is of. Present only if the database did not respond and you accepted that with
   * `maxStaleSeconds`.
   */
  asOf?: string
  /**
   * Permissions in your request that do not exist, so that no key can have them: most likely typos. Present only
   * if there are any.
   */
  unknownPermissions?: string[]
  /** Every check, in order. Present only with `explain`. */
  checks?: Array<{
    /** The code that a failure of this check would give. */
    code:
      | 'VALID'
      | 'NOT_FOUND'
      | 'REVOKED'
      | 'EXPIRED'
      | 'DISABLED'
      | 'FROZEN'
      | 'WRONG_TYPE'
      | 'FORBIDDEN_IP'
      | 'INSUFFICIENT_PERMISSIONS'
      | 'USAGE_EXCEEDED'
      | 'RATE_LIMITED'
      | (string & {})
    /** Whether the key passed. */
    ok: boolean
    /** The result in words, for people. */
    detail: string
  }>
  /** On what terms you may keep the verdict. `null`: do not keep it. */
  lease: {
    /**
     * How old the knowledge behind the verdict was when your question arrived. The verdict holds for the moment you
     * sent the question, minus this.
     */
    ageMs: number
    /**
     * How long the key, or the grace period of this secret, lasts, counted from when you sent the question. `null`:
     * without end.
     */
    validForMs: number | null
    /** The number of the key's secret that was presented, for reports of use. */
    secret: number
    /** Whether the verdict holds for the `ip` you sent only. */
    byAddress: boolean
    /** The node that responded, as in `hello`. */
    node: string
    /**
     * Names the permissions that exist and the stores of your service token, as in `hello`. Keep the verdict only
     * if both are equal.
     */
    catalogue: string
  } | null
}

/** What a member or a key created in the store and leaves behind. */
export interface Made {
  /**
   * The keys they created, and those they rotated whose secret still works: themselves, or with one of these
   * keys. The newest 1,000, in their current state.
   */
  keys: Array<{
    /** The id of the key. */
    id: string
    /** The name of the key. */
    name: string
    /** `ACTIVE`, `DISABLED`, `EXPIRED` or `REVOKED`, after this request. */
    status: string
  }>
  /** The webhooks they created, themselves or with one of their keys, in their current state. */
  webhooks: Array<{
    /** The id of the webhook. */
    id: string
    /** Where its messages are sent. `null` without `MANAGE_WEBHOOKS`. */
    url: string | null
    /** Whether it is enabled after this request. */
    enabled: boolean
  }>
  /**
   * Members who joined by an invitation that they sent, themselves or with one of their keys, with their current
   * role. The newest 1,000. They remain members unless you remove them.
   */
  members: Array<{
    /** The id of the user. */
    userId: string
    /**
     * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
     * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
     * includes.
     */
    role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  }>
  /**
   * The service tokens they issued as an owner that were still working. They keep working unless an owner asks
   * for `keys=revoke`.
   */
  serviceTokens: Array<{
    /** The id of the token. */
    id: string
    /** The back end that uses it. */
    name: string
    /** Whether this request revoked it, with `keys=revoke`. */
    revoked: boolean
  }>
}

/** Which e-mails the user gets. Mails about a changed password, e-mail address or second factor are always sent. */
export interface MailSwitches {
  /** Tell me about sign-ins from an IP address the account has not been used from in the last 90 days. */
  newSignIns: boolean
  /** Tell me when a key that I created, or a key of a store that I own, has leaked. */
  leakedKeys: boolean
  /**
   * Tell me when a key that I created expires in 30, 7 or 1 days. If its creator is gone, the owners of the store
   * are told.
   */
  expiringKeys: boolean
}

/** You, and the stores you are a member of. */
export interface Me {
  /** A user account. */
  user: User
  /** The stores you are a member of. */
  stores: Array<{
    /** A store. */
    store: Store
    /** The role in the store. */
    role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
    /** The permissions in the store. */
    permissions: string[]
  }>
}

/** A member of a store. */
export interface Member {
  /** The id of the store. */
  storeId: string
  /** The id of the user. */
  userId: string
  /** The user's name, if they gave one. */
  name: string | null
  /** The user's e-mail address, if it is known. */
  email: string | null
  /**
   * Whether the user, signed in, confirmed the address with a link sent to it, or their identity provider
   * verified it. Otherwise it may be somebody else’s.
   */
  emailVerified: boolean
  /**
   * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
   * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
   * includes.
   */
  role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  /** The permissions the member has: those that were set, otherwise those of the role. */
  permissions: string[]
  /** When the user joined. */
  createdAt: string
  /** When it was last changed. */
  updatedAt: string
}

/**
 * `permissions` is the complete set (`null`: those of the role). `addPermissions` and `removePermissions`
 * change the current permissions or, together with a new role, those of that role.
 */
export interface MemberChanges {
  /**
   * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
   * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
   * includes.
   */
  role?: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | undefined
  /** The complete set of permissions, which replaces those of the role. */
  permissions?: readonly string[] | null | undefined
  /** Permissions to add. The others stay as they are. */
  addPermissions?: readonly string[] | undefined
  /** Permissions to remove. The others stay as they are. */
  removePermissions?: readonly string[] | undefined
}

/** One page of a list. */
export interface Members {
  /** The items on this page. */
  data: Member[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface MembersListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
  /** Only members with this role. */
  role?: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | undefined
  /** Only members whose name or e-mail contains this. */
  q?: string | undefined
}

export interface MembersRemoveQuery {
  /** What to do with the keys they created, and with those they rotated: `keep` them, or `revoke` them. */
  keys?: 'keep' | 'revoke' | undefined
  /**
   * What to do with the webhooks they created, themselves or with one of these keys: `keep` them, or `disable`
   * them.
   */
  webhooks?: 'keep' | 'disable' | undefined
}

export interface MembersUpdateQuery {
  /** What to do with the keys they created, and with those they rotated: `keep` them, or `revoke` them. */
  keys?: 'keep' | 'revoke' | undefined
  /**
   * What to do with the webhooks they created, themselves or with one of these keys: `keep` them, or `disable`
   * them.
   */
  webhooks?: 'keep' | 'disable' | undefined
}

/** Your own membership in a store. */
export interface Membership {
  /** A store. */
  store: Store
  /** The id of the user. */
  userId: string
  /**
   * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
   * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
   * includes.
   */
  role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})
  /** The permissions the member has: those that were set, otherwise those of the role. */
  permissions: string[]
  /** When the user joined. */
  createdAt: string
}

/**
 * A billing address to create. At least one of `firstName`, `lastName` and `company` is required; whether city,
 * state and postal code are depends on the country.
 */
export interface NewAddress {
  /** Given name. */
  firstName?: string | null | undefined
  /** Family name. */
  lastName?: string | null | undefined
  /** The company, for business customers. */
  company?: string | null | undefined
  /**
   * VAT or other tax number. It is checked where its format is published: a valid one is returned in its normal
   * form, an invalid one is kept with a warning.
   */
  taxId?: string | null | undefined
  /** Street and number, or a PO box. */
  addressLine1: string
  /** Apartment, floor, building and the like. */
  addressLine2?: string | null | undefined
  /** City or town. */
  city?: string | null | undefined
  /**
   * State, province or region, by code or name. Returned as the ISO 3166-2 code without the country, where there
   * is one.
   */
  state?: string | null | undefined
  /** Postal code. Returned the way its country writes it. */
  postalCode?: string | null | undefined
  /** Country, by its ISO 3166-1 code of two or three letters or by name. Returned as two letters. */
  country: string
  /** Phone number, with `+` or `00` or as it is dialled in the country of the address. Returned in E.164 format. */
  phone?: string | null | undefined
  /** `true` makes this the default instead of the current one. A user's first address is always the default. */
  isDefault?: boolean | undefined
}

/** A hold to put on a version of an address. */
export interface NewHold {
  /** Why the version is kept. Its user can read this. */
  reason: string
  /** When the hold ends: at most 5,479 days (15 years) from now. */
  until: string | Date
}

/** An invitation to send. */
export interface NewInvitation {
  /** The e-mail address of the person to invite. Only an account with this address can accept. */
  email: string
  /**
   * `OWNER`: every permission, and only owners can appoint owners. `MANAGER`: everything except `MANAGE_STORE`.
   * `STAFF`: `READ` and `WRITE`. `CUSTOMER`: only their own addresses. `GET /v1/permissions` lists what each role
   * includes.
   */
  role: 'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER'
  /** The complete set of permissions, which replaces those of the role. */
  permissions?: readonly string[] | undefined
  /** Permissions to add. The others stay as they are. */
  addPermissions?: readonly string[] | undefined
  /** Permissions to remove. The others stay as they are. */
  removePermissions?: readonly string[] | undefined
}

/** An API key to create. */
export interface NewKey {
  /** A name that tells people what the key is for. It does not have to be unique. */
  name: string
  /**
   * The environment the key is for. It is part of the key: `skp_prod_…`, `skp_test_…`, `skp_dev_…`. Back ends can
   * accept only certain types; otherwise all types work the same.
   */
  type: 'PROD' | 'TEST' | 'DEV'
  /** What the key is allowed to do in its store. You can grant only permissions that you have yourself. */
  permissions: readonly string[]
  /**
   * Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must
   * be a string of at most 500 characters.
   */
  metadata?: Record<string, unknown> | undefined
  /** Rate limits beside `rateLimit`. A verification spends all of them, or those that it names. */
  rateLimits?:
    | ReadonlyArray<{
        /** The name of the limit, by which a verification refers to it. */
        name: string
        /** How many verifications a window allows. */
        limit: number
        /** The length of a window, in seconds. */
        windowSeconds: number
        /**
         * `owner`: all keys of the same `owner` in the store that have a limit of this name and window share one
         * window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.
         */
        shared?: 'owner' | null | undefined
      }>
    | undefined
  /** When the key stops working. `null`: it does not expire. */
  expiresAt?: string | Date | null | undefined
  /** The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere. */
  ipAllowlist?: readonly string[] | null | undefined
  /** How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit. */
  rateLimit?:
    | {
        /** How many verifications a window allows. */
        limit: number
        /** The length of a window, in seconds. */
        windowSeconds: number
      }
    | null
    | undefined
  /**
   * Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events
   * never contain it.
   */
  owner?: string | null | undefined
  /** Credits that verifications of the key spend. `null`: the key needs none. */
  credits?:
    | {
        /** How many credits are left. */
        remaining: number
        /** Automatic refills. `null`: there are none. */
        refill?:
          | {
              /** What `remaining` is set to. If more than that is left, it stays. */
              amount: number
              /** How often: at the beginning of every hour, day or month, in UTC. */
              interval: 'HOUR' | 'DAY' | 'MONTH'
              /** Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day. */
              dayOfMonth?: number | undefined
            }
          | null
          | undefined
      }
    | null
    | undefined
}

/** A passkey to add. */
export interface NewPasskey {
  /** A name for the passkey, such as the device it is on. */
  name: string
  /** A new passkey, as WebAuthn's `RegistrationResponseJSON`: the result of `credential.toJSON()`. */
  credential: Attestation
}

/** A service token to issue. */
export interface NewServiceToken {
  /** The back end that uses it. */
  name: string
}

/** A store to create. */
export interface NewStore {
  /** The name of the store. */
  name: string
  /**
   * `OPEN`: any signed-in user can join as a customer. `CLOSED`: people join by invitation only, and to anyone
   * else the store looks as if it did not exist.
   */
  registration?: 'OPEN' | 'CLOSED' | undefined
  /**
   * How long a leaked `PROD` key keeps working, in seconds: at most 7 days. `0` revokes it immediately. `TEST`
   * and `DEV` keys are always revoked immediately.
   */
  leakGraceSeconds?: number | undefined
}

/** The secret and recovery codes of a new authenticator app. */
export interface NewTotp {
  /** The secret in base32, to type into an authenticator app. */
  secret: string
  /** The secret as an `otpauth://` URI, to show as a QR code or open on a phone. */
  uri: string
  /**
   * Ten recovery codes. Each can be used once, instead of the app or a passkey. They are shown only in this
   * response.
   */
  recoveryCodes: string[]
}

/** A webhook to create. */
export interface NewWebhook {
  /**
   * Where messages are sent: an `https:` URL on the public internet. For development, the operator can allow
   * private addresses with `WEBHOOK_ALLOW_PRIVATE`.
   */
  url: string
  /** The events to send: exact types, prefixes such as `key.*`, or `*` for all events. */
  types: readonly string[]
  /** What the webhook is for. */
  description?: string | null | undefined
}

/** The key that made the request. */
export interface OwnKey {
  /** The id of the key. It is not secret. */
  id: string
  /** The id of the store. */
  storeId: string
  /** A name that tells people what the key is for. It does not have to be unique. */
  name: string
  /**
   * The environment the key is for. It is part of the key: `skp_prod_…`, `skp_test_…`, `skp_dev_…`. Back ends can
   * accept only certain types; otherwise all types work the same.
   */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {})
  /** What the key is allowed to do in its store. You can grant only permissions that you have yourself. */
  permissions: string[]
  /**
   * Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must
   * be a string of at most 500 characters.
   */
  metadata: Record<string, unknown>
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere. */
  ipAllowlist: string[] | null
  /** How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit. */
  rateLimit: {
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
  } | null
  /**
   * Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events
   * never contain it.
   */
  owner: string | null
  /** Credits that verifications of the key spend. `null`: the key needs none. */
  credits: {
    /** How many credits are left. */
    remaining: number
    /** Automatic refills. `null`: there are none. */
    refill?: {
      /** What `remaining` is set to. If more than that is left, it stays. */
      amount: number
      /** How often: at the beginning of every hour, day or month, in UTC. */
      interval: 'HOUR' | 'DAY' | 'MONTH' | (string & {})
      /** Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day. */
      dayOfMonth?: number
    } | null
  } | null
  /** Rate limits beside `rateLimit`. A verification spends all of them, or those that it names. */
  rateLimits: Array<{
    /** The name of the limit, by which a verification refers to it. */
    name: string
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
    /**
     * `owner`: all keys of the same `owner` in the store that have a limit of this name and window share one
     * window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.
     */
    shared?: 'owner' | (string & {}) | null
  }>
  /**
   * The first characters of the key, so that people can tell keys apart. Of an imported key at most 4, and none
   * if its value was short or not sent.
   */
  start: string
  /**
   * `ACTIVE`: it works. `DISABLED`: `enabled` is `false`. `EXPIRED`: `expiresAt` has passed. `REVOKED`: it will
   * never work again.
   */
  status: 'ACTIVE' | 'DISABLED' | 'EXPIRED' | 'REVOKED' | (string & {})
  /** Whether the key is enabled. A disabled key can be enabled again. */
  enabled: boolean
  /** When it was created. */
  createdAt: string
  /** Who created the key. */
  createdBy: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** When it was last changed. */
  updatedAt: string
  /** When the key was last accepted. `null`: never. */
  lastUsedAt: string | null
  /** When the key was revoked. `null`: it was not. */
  revokedAt: string | null
  /** Why the key was revoked, if a reason was given. */
  revocationReason: string | null
  /** Whether the key was created elsewhere and imported. Until it is rotated, it can only be verified. */
  imported: boolean
  /** Set while the secret from before the last rotation still works; otherwise `null`. */
  rotation: {
    /** When the previous secret stops working. */
    previousExpiresAt: string
    /** When the previous secret was last accepted. `null`: not since the rotation. */
    previousLastUsedAt: string | null
  } | null
  /**
   * Which of its secrets you used. The previous one works only until its grace period ends. `start` belongs to
   * the secret you used.
   */
  presented: 'current' | 'previous' | (string & {})
}

/** How often the keys of an owner were verified, added up. */
export interface OwnerUsage {
  /** The start of the first interval. Included. */
  from: string
  /** The end of the last interval. Not included. */
  to: string
  /** The length of an interval. Hours and days are in UTC. */
  interval: 'hour' | 'day' | (string & {})
  /** The counts, oldest first. Intervals without any use are left out. */
  data: Array<{
    /** The start of the hour or day. */
    at: string
    /** The number of verifications, by the `code` of the verdict. */
    counts: Record<string, number>
  }>
}

export interface OwnersUsageQuery {
  /** The start of the period. Defaults to one day before `to`, or 30 days with `interval=day`. */
  from?: string | Date | undefined
  /** The end of the period. Defaults to now. */
  to?: string | Date | undefined
  /** The length of an interval. Defaults to `hour`. */
  interval?: 'hour' | 'day' | undefined
}

/** A passkey of a user. */
export interface Passkey {
  /** The id of the passkey. */
  id: string
  /** The name you gave it. */
  name: string
  /** Whether the passkey was synced, for example by a password manager, when it was last used. */
  backedUp: boolean
  /** When it was created. */
  createdAt: string
  /** When it was last used to sign in. `null` if it was never used. */
  lastUsedAt: string | null
}

/**
 * WebAuthn's `PublicKeyCredentialCreationOptionsJSON`, for
 * `PublicKeyCredential.parseCreationOptionsFromJSON()`.
 */
export type PasskeyCreationOptions = Record<string, unknown>

/** WebAuthn's `PublicKeyCredentialRequestOptionsJSON`, for `PublicKeyCredential.parseRequestOptionsFromJSON()`. */
export type PasskeyRequestOptions = Record<string, unknown>

/** A sign-in with a passkey. */
export interface PasskeySignIn {
  /**
   * A signature made with a passkey, as WebAuthn's `AuthenticationResponseJSON`: the result of
   * `credential.toJSON()`.
   */
  credential: Assertion
  /** For browsers: set the session as a cookie instead of returning a token. */
  cookie?: boolean | undefined
}

/** One page of a list. */
export interface Passkeys {
  /** The items on this page. */
  data: Passkey[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface PasskeysListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

/** A password change. */
export interface PasswordChange {
  /** The current password. */
  currentPassword: string
  /** 15 to 256 characters of any kind; a sentence works well. Very common passwords are rejected. */
  newPassword: string
}

/** All permissions of this installation. */
export interface Permissions {
  /** All permissions, in the order in which the API lists them. */
  data: Array<{
    /** The name of the permission. */
    permission: string
    /** What it allows. */
    description: string
    /** The roles that include it. */
    roles: Array<'OWNER' | 'MANAGER' | 'STAFF' | 'CUSTOMER' | (string & {})>
  }>
}

/** New recovery codes. */
export interface RecoveryCodes {
  /**
   * Ten recovery codes. Each can be used once, instead of the app or a passkey. They are shown only in this
   * response.
   */
  recoveryCodes: string[]
}

/** How many events are being sent again. */
export interface Redelivered {
  /** The number of events that are being sent again. */
  deliveries: number
  /** If there are more events, the `from` to continue with. `null`: that was all. */
  nextFrom: string | null
}

/** The period whose events to send again. */
export interface Redelivery {
  /** The start of the period. Included. */
  from: string | Date
  /** The end of the period. Not included. */
  to: string | Date
}

/** It is written. */
export interface ReportAccepted {}

/** A new password, with the token of a reset link. */
export interface Reset {
  /** The token from the link: the part after `#token=`. */
  token: string
  /** 15 to 256 characters of any kind; a sentence works well. Very common passwords are rejected. */
  newPassword: string
}

/** A request for a reset link. */
export interface ResetRequest {
  /** The e-mail address of the account. */
  email: string
}

/** The revoked key, and what was created with it. */
export interface RevokedKey {
  /** The id of the key. It is not secret. */
  id: string
  /** The id of the store. */
  storeId: string
  /** A name that tells people what the key is for. It does not have to be unique. */
  name: string
  /**
   * The environment the key is for. It is part of the key: `skp_prod_…`, `skp_test_…`, `skp_dev_…`. Back ends can
   * accept only certain types; otherwise all types work the same.
   */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {})
  /** What the key is allowed to do in its store. You can grant only permissions that you have yourself. */
  permissions: string[]
  /**
   * Your own data, as a JSON object: at most 16 KiB, 50 properties and 8 levels. `description`, if present, must
   * be a string of at most 500 characters.
   */
  metadata: Record<string, unknown>
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** The IPv4 and IPv6 addresses and CIDR ranges the key can be used from. `null`: from anywhere. */
  ipAllowlist: string[] | null
  /** How often the key can be verified. Further verifications in the window are `RATE_LIMITED`. `null`: no limit. */
  rateLimit: {
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
  } | null
  /**
   * Your own id for whoever the key belongs to, at most 255 characters. Verifying the key returns it; events
   * never contain it.
   */
  owner: string | null
  /** Credits that verifications of the key spend. `null`: the key needs none. */
  credits: {
    /** How many credits are left. */
    remaining: number
    /** Automatic refills. `null`: there are none. */
    refill?: {
      /** What `remaining` is set to. If more than that is left, it stays. */
      amount: number
      /** How often: at the beginning of every hour, day or month, in UTC. */
      interval: 'HOUR' | 'DAY' | 'MONTH' | (string & {})
      /** Only with `MONTH`, 1 if left out: the day of the refill. In shorter months it is the last day. */
      dayOfMonth?: number
    } | null
  } | null
  /** Rate limits beside `rateLimit`. A verification spends all of them, or those that it names. */
  rateLimits: Array<{
    /** The name of the limit, by which a verification refers to it. */
    name: string
    /** How many verifications a window allows. */
    limit: number
    /** The length of a window, in seconds. */
    windowSeconds: number
    /**
     * `owner`: all keys of the same `owner` in the store that have a limit of this name and window share one
     * window, and each key is held to its own `limit`. Left out or `null`: the key has a window of its own.
     */
    shared?: 'owner' | (string & {}) | null
  }>
  /**
   * The first characters of the key, so that people can tell keys apart. Of an imported key at most 4, and none
   * if its value was short or not sent.
   */
  start: string
  /**
   * `ACTIVE`: it works. `DISABLED`: `enabled` is `false`. `EXPIRED`: `expiresAt` has passed. `REVOKED`: it will
   * never work again.
   */
  status: 'ACTIVE' | 'DISABLED' | 'EXPIRED' | 'REVOKED' | (string & {})
  /** Whether the key is enabled. A disabled key can be enabled again. */
  enabled: boolean
  /** When it was created. */
  createdAt: string
  /** Who created the key. */
  createdBy: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** When it was last changed. */
  updatedAt: string
  /** When the key was last accepted. `null`: never. */
  lastUsedAt: string | null
  /** When the key was revoked. `null`: it was not. */
  revokedAt: string | null
  /** Why the key was revoked, if a reason was given. */
  revocationReason: string | null
  /** Whether the key was created elsewhere and imported. Until it is rotated, it can only be verified. */
  imported: boolean
  /** Set while the secret from before the last rotation still works; otherwise `null`. */
  rotation: {
    /** When the previous secret stops working. */
    previousExpiresAt: string
    /** When the previous secret was last accepted. `null`: not since the rotation. */
    previousLastUsedAt: string | null
  } | null
  /** From this time on no node accepts the key, not even one that has lost contact with the database. */
  effectiveBy: string
  /** What a member or a key created in the store and leaves behind. */
  made: Made
}

/** How to rotate the secret. */
export interface Rotation {
  /** How long the old secret keeps working: 30 days at most, and never longer than the key itself. */
  gracePeriodSeconds?: number | undefined
}

/** The second step of a sign-in: either a code or a passkey. */
export interface SecondFactor {
  /** The `challenge` from the `second_factor_required` response. */
  challenge: string
  /** The six-digit code from the app, or a recovery code. */
  code?: string | undefined
  /**
   * A signature made with a passkey, as WebAuthn's `AuthenticationResponseJSON`: the result of
   * `credential.toJSON()`.
   */
  credential?: Assertion | undefined
  /** For browsers: set the session as a cookie instead of returning a token. */
  cookie?: boolean | undefined
}

/** A service token, without its secret. */
export interface ServiceToken {
  /** The id of the token. */
  id: string
  /** The store whose keys it verifies. */
  storeId: string
  /** The back end that uses it. */
  name: string
  /** When it was issued. */
  createdAt: string
  /** The owner who issued it. */
  createdBy: {
    /** Always `user`. */
    kind: string
    /** The id of the owner. */
    id: string
  }
  /** When it was revoked. `null`: it works. */
  revokedAt: string | null
}

/** A service token with its secret, which is shown only once. */
export interface ServiceTokenWithSecret {
  /** The id of the token. */
  id: string
  /** The store whose keys it verifies. */
  storeId: string
  /** The back end that uses it. */
  name: string
  /** When it was issued. */
  createdAt: string
  /** The owner who issued it. */
  createdBy: {
    /** Always `user`. */
    kind: string
    /** The id of the owner. */
    id: string
  }
  /** When it was revoked. `null`: it works. */
  revokedAt: string | null
  /** The full token, `skp_svc_…`. Store it now: it is not shown again. */
  token: string
}

/** One page of a list. */
export interface ServiceTokens {
  /** The items on this page. */
  data: ServiceToken[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface ServiceTokensListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

/** A session of a signed-in user. */
export interface Session {
  /** The id of the session. */
  id: string
  /** Whether it is the session of this request. */
  current: boolean
  /** How the user signed in. `oidc` is single sign-on. */
  method: 'password' | 'passkey' | 'oidc' | (string & {})
  /** The `User-Agent` of the browser or program that signed in. */
  userAgent: string | null
  /** The IP address the user signed in from. */
  ip: string | null
  /** When the user signed in. */
  createdAt: string
  /** When it was last used, to five minutes. */
  lastUsedAt: string
  /** When the session expires. */
  expiresAt: string
}

/** One page of a list. */
export interface Sessions {
  /** The items on this page. */
  data: Session[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface SessionsListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
}

/** How this installation is configured, as far as clients need to know. */
export interface Settings {
  /** The version of the service. */
  version: string
  /** `open`: anyone can sign up. `closed`: only people who were invited can. */
  signUp: 'open' | 'closed' | (string & {})
  /** The prefix of every key and token. */
  keyPrefix: string
  /** The limits of this installation. */
  limits: {
    /** Live keys per store. */
    keysPerStore: number
    /** Addresses per user and store. */
    addressesPerUser: number
    /** Stores a user can own. */
    storesPerUser: number
    /** Open invitations per store. */
    invitationsPerStore: number
    /** Customers per store. */
    customersPerStore: number
    /** Webhooks per store. */
    webhooksPerStore: number
    /** Sessions per user. */
    sessionsPerUser: number
    /** Changes to a user's addresses in one store within 24 hours. */
    versionsPerDay: number
  }
  /** Whether the service sends mail: invitations, password resets. */
  mail: boolean
  /** Whether people can sign in with an identity provider. */
  oidc: boolean
}

/** Credentials to sign in with. */
export interface SignIn {
  /** E-mail address. Not case-sensitive. */
  email: string
  /** The current password. */
  password: string
  /** For browsers: set the session as a cookie instead of returning a token. */
  cookie?: boolean | undefined
}

/** An account to create. */
export interface SignUp {
  /** E-mail address. Not case-sensitive. */
  email: string
  /** 15 to 256 characters of any kind; a sentence works well. Very common passwords are rejected. */
  password: string
  /** Your name, as other members of a store see it. */
  name?: string | undefined
  /** For browsers: set the session as a cookie instead of returning a token. */
  cookie?: boolean | undefined
  /** The token of an invitation. Required where sign-up is by invitation only. */
  invitation?: string | undefined
}

/** The new session, and whose it is. */
export interface SignedIn {
  /** A user account. */
  user: User
  /** The session token, to send as `Authorization: Bearer …`. Absent if the session was set as a cookie. */
  token?: string
  /** When the session expires. */
  expiresAt: string
}

/** A store. */
export interface Store {
  /** The id of the store. */
  id: string
  /** The name of the store. */
  name: string
  /**
   * `OPEN`: any signed-in user can join as a customer. `CLOSED`: people join by invitation only, and to anyone
   * else the store looks as if it did not exist.
   */
  registration: 'OPEN' | 'CLOSED' | (string & {})
  /**
   * How long a leaked `PROD` key keeps working, in seconds: at most 7 days. `0` revokes it immediately. `TEST`
   * and `DEV` keys are always revoked immediately.
   */
  leakGraceSeconds: number
  /** When all keys of the store were frozen. `null`: they are not frozen. */
  frozenAt: string | null
  /** When it was created. */
  createdAt: string
  /** When it was last changed. */
  updatedAt: string
  /** When the store was deleted. It can be restored for 30 days. `null`: it is not deleted. */
  deletedAt: string | null
}

/** Changes to a store. Fields that are left out keep their value. */
export interface StoreChanges {
  /** The name of the store. */
  name?: string | undefined
  /**
   * `OPEN`: any signed-in user can join as a customer. `CLOSED`: people join by invitation only, and to anyone
   * else the store looks as if it did not exist.
   */
  registration?: 'OPEN' | 'CLOSED' | undefined
  /**
   * How long a leaked `PROD` key keeps working, in seconds: at most 7 days. `0` revokes it immediately. `TEST`
   * and `DEV` keys are always revoked immediately.
   */
  leakGraceSeconds?: number | undefined
}

/** How often each key of the store was verified. */
export interface StoreUsage {
  /** The start of the first interval. Included. */
  from: string
  /** The end of the last interval. Not included. */
  to: string
  /** The length of an interval. Hours and days are in UTC. */
  interval: 'hour' | 'day' | (string & {})
  /** The items on this page. */
  data: Array<{
    /** The id of the key. */
    keyId: string
    /** The counts, oldest first. Intervals without any use are left out. */
    data: Array<{
      /** The start of the hour or day. */
      at: string
      /** The number of verifications, by the `code` of the verdict. */
      counts: Record<string, number>
    }>
  }>
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

/** One page of a list. */
export interface Stores {
  /** The items on this page. */
  data: Store[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface StoresLeaveQuery {
  /** What to do with the keys they created, and with those they rotated: `keep` them, or `revoke` them. */
  keys?: 'keep' | 'revoke' | undefined
  /**
   * What to do with the webhooks they created, themselves or with one of these keys: `keep` them, or `disable`
   * them.
   */
  webhooks?: 'keep' | 'disable' | undefined
}

export interface StoresListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
  /** `true`: list the deleted stores that you can restore instead. */
  deleted?: 'true' | 'false' | undefined
}

/** A state, province or region. */
export interface Subdivision {
  /** The value that `state` is returned as. */
  code: string
  /** The name in English or in Latin script. */
  name: string
  /** The name in local script, if it differs. */
  localName?: string
  /** Other names that are accepted. */
  aliases: string[]
}

/** The confirmation of a new authenticator app. */
export interface TotpConfirmation {
  /** The six-digit code the app shows. */
  code: string
}

/** The uses of keys that a back end verified itself. */
export interface UsageReport {
  /** Your process: random characters, chosen when it starts. */
  reporter: string
  /** The number of this report: 1, then one more for each. Send a report again under the same number. */
  seq: number
  /** What was counted since the report before, by key and secret. */
  counts: ReadonlyArray<{
    /** The id of the key. */
    keyId: string
    /** Which of its secrets was used: `secret` of the lease. */
    secret: number
    /** How often it was accepted. */
    valid: number
    /** How many milliseconds ago the last time was. */
    agoMs: number
    /** The permissions that were asked for, each with how many milliseconds ago that was last. */
    permissions?: Record<string, number> | undefined
  }>
}

/** A user account. */
export interface User {
  /** The id of the user. */
  id: string
  /**
   * The e-mail address. `null` if it is still `pendingEmail`, or if the identity provider sent no address or one
   * that another account has.
   */
  email: string | null
  /** Whether the user confirmed the address with a link sent to it, or their identity provider verified it. */
  emailVerified: boolean
  /** A new e-mail address that replaces `email` once it is confirmed. `null` if there is none. */
  pendingEmail: string | null
  /** The name the user entered, or the one from their identity provider. */
  name: string | null
  /** Which e-mails the user gets. Mails about a changed password, e-mail address or second factor are always sent. */
  mail: MailSwitches
  /** The second factors of the account. If there are any, a password alone is not enough to sign in. */
  secondFactor: {
    /** Whether an authenticator app is set up. */
    totp: boolean
    /** The number of passkeys. */
    passkeys: number
    /** The number of recovery codes that have not been used. */
    recoveryCodesLeft: number
  }
  /** When it was created. */
  createdAt: string
}

/** Changes to your account. Fields that are left out keep their value; `null` clears the name. */
export interface UserChanges {
  /** Your name, as other members of a store see it. */
  name?: string | null | undefined
  /** E-mail address. Not case-sensitive. */
  email?: string | undefined
  /** Your current password. Required to change the e-mail address. */
  currentPassword?: string | undefined
  /** Which e-mails you want to get. Settings that are left out keep their value. */
  mail?:
    | {
        /** Tell me about sign-ins from an IP address the account has not been used from in the last 90 days. */
        newSignIns?: boolean | undefined
        /** Tell me when a key that I created, or a key of a store that I own, has leaked. */
        leakedKeys?: boolean | undefined
        /**
         * Tell me when a key that I created expires in 30, 7 or 1 days. If its creator is gone, the owners of the store
         * are told.
         */
        expiringKeys?: boolean | undefined
      }
    | undefined
}

export interface UserEraseQuery {
  /** What to do with the keys they created, and with those they rotated: `keep` them, or `revoke` them. */
  keys?: 'keep' | 'revoke' | undefined
  /**
   * What to do with the webhooks they created, themselves or with one of these keys: `keep` them, or `disable`
   * them.
   */
  webhooks?: 'keep' | 'disable' | undefined
}

/** Whether the key was accepted, and why not. */
export type Verdict = ValidVerdict | RefusedVerdict

/** Let the caller in. */
export interface ValidVerdict {
  /** Whether to let the caller in: `true` exactly when `code` is `VALID`. */
  valid: true
  /**
   * `VALID`: let the caller in. `NOT_FOUND`: no such key, or not one of this store. `REVOKED`, `EXPIRED`,
   * `DISABLED`: the state of the key. `FROZEN`: all keys of the store are frozen. `WRONG_TYPE`: not one of
   * `types`. `FORBIDDEN_IP`: not on the allowlist. `INSUFFICIENT_PERMISSIONS`: a permission you asked for is
   * missing. `USAGE_EXCEEDED`: the key has too few credits. `RATE_LIMITED`: try again after
   * `rateLimit.resetSeconds`, or that of the limit in `limits`.
   */
  code: 'VALID'

  /** The id of the key. `null` with `NOT_FOUND`, as are the fields below. */
  keyId: string
  /** The id of the store. */
  storeId: string
  /** The key's name. */
  name: string
  /** The key's type. */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {})
  /** All permissions of the key, not only those you asked for. */
  permissions: string[]
  /** The key's metadata. */
  metadata: Record<string, unknown>
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** Your own id for whoever the key belongs to. `null`: none was set. */
  owner: string | null
  /** The state of the rate limit. Present only for a key that has one. */
  rateLimit?: {
    /** How many verifications a window allows. */
    limit: number
    /** How many are left in this window. */
    remaining: number
    /** Seconds until the window ends. Send it on as `Retry-After`. */
    resetSeconds: number
  }
  /** The state of the credits. Present only for a key that has credits. */
  credits?: {
    /** What is left after this verification. */
    remaining: number
    /** The next refill. `null`: there is none. */
    refillsAt: string | null
  }
  /**
   * The state of each limit that was checked. Absent or empty if there was none, and absent if the key has only
   * `rateLimit` and you named no limits.
   */
  limits?: Array<{
    /** The name of the limit. */
    name: string
    /** How much a window allows. */
    limit: number
    /** What is left in this window. */
    remaining: number
    /** When the window ends, in seconds from now. */
    resetSeconds: number
    /** Whether this limit refused the request. */
    exceeded: boolean
  }>
  /**
   * The moment this answer is of. Present only if the database did not respond and you accepted that with
   * `maxStaleSeconds`.
   */
  asOf?: string
  /**
   * Permissions in your request that do not exist, so that no key can have them: most likely typos. Present only
   * if there are any.
   */
  unknownPermissions?: string[]
  /** Every check, in order. Present only with `explain`. */
  checks?: Array<{
    /** The code that a failure of this check would give. */
    code:
      | 'VALID'
      | 'NOT_FOUND'
      | 'REVOKED'
      | 'EXPIRED'
      | 'DISABLED'
      | 'FROZEN'
      | 'WRONG_TYPE'
      | 'FORBIDDEN_IP'
      | 'INSUFFICIENT_PERMISSIONS'
      | 'USAGE_EXCEEDED'
      | 'RATE_LIMITED'
      | (string & {})
    /** Whether the key passed. */
    ok: boolean
    /** The result in words, for people. */
    detail: string
  }>
}

/** Do not let the caller in. */
export interface RefusedVerdict {
  /** Whether to let the caller in: `true` exactly when `code` is `VALID`. */
  valid: false
  /**
   * `VALID`: let the caller in. `NOT_FOUND`: no such key, or not one of this store. `REVOKED`, `EXPIRED`,
   * `DISABLED`: the state of the key. `FROZEN`: all keys of the store are frozen. `WRONG_TYPE`: not one of
   * `types`. `FORBIDDEN_IP`: not on the allowlist. `INSUFFICIENT_PERMISSIONS`: a permission you asked for is
   * missing. `USAGE_EXCEEDED`: the key has too few credits. `RATE_LIMITED`: try again after
   * `rateLimit.resetSeconds`, or that of the limit in `limits`.
   */
  code:
    | 'NOT_FOUND'
    | 'REVOKED'
    | 'EXPIRED'
    | 'DISABLED'
    | 'FROZEN'
    | 'WRONG_TYPE'
    | 'FORBIDDEN_IP'
    | 'INSUFFICIENT_PERMISSIONS'
    | 'USAGE_EXCEEDED'
    | 'RATE_LIMITED'
    | (string & {})

  /** The id of the key. `null` with `NOT_FOUND`, as are the fields below. */
  keyId: string | null
  /** The id of the store. */
  storeId: string | null
  /** The key's name. */
  name: string | null
  /** The key's type. */
  type: 'PROD' | 'TEST' | 'DEV' | (string & {}) | null
  /** All permissions of the key, not only those you asked for. */
  permissions: string[] | null
  /** The key's metadata. */
  metadata: Record<string, unknown> | null
  /** When the key stops working. `null`: it does not expire. */
  expiresAt: string | null
  /** Your own id for whoever the key belongs to. `null`: none was set. */
  owner: string | null
  /** The state of the rate limit. Present only for a key that has one. */
  rateLimit?: {
    /** How many verifications a window allows. */
    limit: number
    /** How many are left in this window. */
    remaining: number
    /** Seconds until the window ends. Send it on as `Retry-After`. */
    resetSeconds: number
  }
  /** The state of the credits. Present only for a key that has credits. */
  credits?: {
    /** What is left after this verification. */
    remaining: number
    /** The next refill. `null`: there is none. */
    refillsAt: string | null
  }
  /**
   * The state of each limit that was checked. Absent or empty if there was none, and absent if the key has only
   * `rateLimit` and you named no limits.
   */
  limits?: Array<{
    /** The name of the limit. */
    name: string
    /** How much a window allows. */
    limit: number
    /** What is left in this window. */
    remaining: number
    /** When the window ends, in seconds from now. */
    resetSeconds: number
    /** Whether this limit refused the request. */
    exceeded: boolean
  }>
  /**
   * The moment this answer is of. Present only if the database did not respond and you accepted that with
   * `maxStaleSeconds`.
   */
  asOf?: string
  /**
   * Permissions in your request that do not exist, so that no key can have them: most likely typos. Present only
   * if there are any.
   */
  unknownPermissions?: string[]
  /** Every check, in order. Present only with `explain`. */
  checks?: Array<{
    /** The code that a failure of this check would give. */
    code:
      | 'VALID'
      | 'NOT_FOUND'
      | 'REVOKED'
      | 'EXPIRED'
      | 'DISABLED'
      | 'FROZEN'
      | 'WRONG_TYPE'
      | 'FORBIDDEN_IP'
      | 'INSUFFICIENT_PERMISSIONS'
      | 'USAGE_EXCEEDED'
      | 'RATE_LIMITED'
      | (string & {})
    /** Whether the key passed. */
    ok: boolean
    /** The result in words, for people. */
    detail: string
  }>
}

/** A key to verify, and what it must satisfy. */
export interface Verification {
  /** The full key your caller sent. */
  key: string
  /** The permissions the key must have. Without this, only the key itself is checked. */
  permissions?: readonly string[] | undefined
  /**
   * The store the key must belong to: a key of any other store is `NOT_FOUND`. Required unless your service token
   * is bound to a single store.
   */
  storeId?: string | undefined
  /** Your caller's IP address. Without it, a key with an allowlist is `FORBIDDEN_IP`. */
  ip?: string | undefined
  /** At least one of these, beside all of `permissions`. */
  anyPermissions?: readonly string[] | undefined
  /** How many credits the caller’s request costs, if the key has credits. */
  cost?: number | undefined
  /** The rate limits that this request spends. Left out: all that the key has, at a cost of 1 each. */
  limits?:
    | ReadonlyArray<{
        /** A name in the key’s `rateLimits`; `default` is its `rateLimit`. A key without it is not limited by it. */
        name: string
        /** How much of the limit this request takes. */
        cost?: number | undefined
      }>
    | undefined
  /**
   * Instead of `storeId`: accept a key of any store your service token covers. Be careful: where sign-up is open,
   * anyone can create a store, with keys that have every permission there.
   */
  anyStore?: boolean | undefined
  /** The key types you accept. A key of any other type is `WRONG_TYPE`. */
  types?: ReadonlyArray<'PROD' | 'TEST' | 'DEV'> | undefined
  /**
   * How old an answer you accept while the database does not respond, such as during a failover. Such an answer
   * has `asOf`: a key that was revoked after that can still be `VALID`. Never for a key with a rate limit, named
   * limits or credits. 0: the response is 503 then.
   */
  maxStaleSeconds?: number | undefined
  /**
   * Adds `checks`, the result of every check with an explanation. The call counts towards no rate limit and no
   * usage.
   */
  explain?: boolean | undefined
}

/** A webhook, without its secret. */
export interface Webhook {
  /** The id of the webhook. */
  id: string
  /** The id of the store. */
  storeId: string
  /**
   * Where messages are sent: an `https:` URL on the public internet. For development, the operator can allow
   * private addresses with `WEBHOOK_ALLOW_PRIVATE`.
   */
  url: string
  /** The events to send: exact types, prefixes such as `key.*`, or `*` for all events. */
  types: string[]
  /** What the webhook is for. */
  description: string | null
  /** Whether messages are sent. */
  enabled: boolean
  /** When it was disabled. `null` if it is enabled. */
  disabledAt: string | null
  /**
   * Why it is disabled. `REQUESTED`: a caller disabled it. `GONE`: the receiver responded with 410. `FAILING`:
   * every attempt failed for 5 days.
   */
  disabledReason: 'REQUESTED' | 'GONE' | 'FAILING' | (string & {}) | null
  /** Since when every attempt has failed. `null`: the last one succeeded. */
  failingSince: string | null
  /** When it was created. */
  createdAt: string
  /** Who created the webhook. */
  createdBy: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** When it was last changed. */
  updatedAt: string
  /** Set while messages are also signed with the previous secret; otherwise `null`. */
  rotation: {
    /** When messages stop being signed with the previous secret. */
    previousExpiresAt: string
  } | null
}

/** Changes to a webhook. Fields that are left out keep their value. */
export interface WebhookChanges {
  /**
   * Where messages are sent: an `https:` URL on the public internet. For development, the operator can allow
   * private addresses with `WEBHOOK_ALLOW_PRIVATE`.
   */
  url?: string | undefined
  /** The events to send: exact types, prefixes such as `key.*`, or `*` for all events. */
  types?: readonly string[] | undefined
  /** What the webhook is for. */
  description?: string | null | undefined
  /** Whether messages are sent. */
  enabled?: boolean | undefined
}

/** The body of a message to a webhook. */
export interface WebhookMessage {
  /** What happened. New types may be added. */
  type: string
  /** When it happened. */
  timestamp: string
  /** The id of the event. */
  id: string
  /** The id of the store. */
  storeId: string
  /** Who did it. */
  actor: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** The id of what it happened to. */
  subject: string
  /** Details, depending on the type. Never a secret and never the text of an address. */
  data: Record<string, unknown>
}

/** How to rotate the secret. */
export interface WebhookRotation {
  /** How long messages are also signed with the old secret: one day by default, at most 7 days. */
  gracePeriodSeconds?: number | undefined
}

/** A webhook with its secret, which is shown only once. */
export interface WebhookWithSecret {
  /** The id of the webhook. */
  id: string
  /** The id of the store. */
  storeId: string
  /**
   * Where messages are sent: an `https:` URL on the public internet. For development, the operator can allow
   * private addresses with `WEBHOOK_ALLOW_PRIVATE`.
   */
  url: string
  /** The events to send: exact types, prefixes such as `key.*`, or `*` for all events. */
  types: string[]
  /** What the webhook is for. */
  description: string | null
  /** Whether messages are sent. */
  enabled: boolean
  /** When it was disabled. `null` if it is enabled. */
  disabledAt: string | null
  /**
   * Why it is disabled. `REQUESTED`: a caller disabled it. `GONE`: the receiver responded with 410. `FAILING`:
   * every attempt failed for 5 days.
   */
  disabledReason: 'REQUESTED' | 'GONE' | 'FAILING' | (string & {}) | null
  /** Since when every attempt has failed. `null`: the last one succeeded. */
  failingSince: string | null
  /** When it was created. */
  createdAt: string
  /** Who created the webhook. */
  createdBy: {
    /**
     * What it was: `user`, a person; `key`, an API key; `service`, a back end with a service token; `system`,
     * Storekeeper itself.
     */
    kind: 'user' | 'key' | 'service' | 'system' | (string & {})
    /** The id of that user, key or service token. */
    id: string
  }
  /** When it was last changed. */
  updatedAt: string
  /** Set while messages are also signed with the previous secret; otherwise `null`. */
  rotation: {
    /** When messages stop being signed with the previous secret. */
    previousExpiresAt: string
  } | null
  /** The secret to verify signatures with. Store it now: it is not shown again. */
  secret: string
}

/** One page of a list. */
export interface Webhooks {
  /** The items on this page. */
  data: Webhook[]
  /** Pass this as `cursor` to get the next page. `null` on the last page. */
  nextCursor: string | null
}

export interface WebhooksListQuery {
  /** The maximum number of items to return. */
  limit?: number | undefined
  /** The `nextCursor` of the previous page. Omit it to get the first page. */
  cursor?: string | undefined
  /** Only webhooks that the user or key with this id created. */
  createdBy?: string | undefined
}
