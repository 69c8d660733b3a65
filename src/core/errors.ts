// Every way the service can say no, in one table. The docs page at /errors/{code}, the OpenAPI document and the
// tests are made from it. Codes are for ever; wording is not. Domain code names the error with `fail`, and only
// the http floor turns the name into a status and a problem document.

export type ErrorRow = {
  status: number
  title: string
  /** What happened and the way out, for a person who reads it for the first time. */
  help: string
}

export const ERRORS = {
  bad_request: {
    status: 400,
    title: 'The request could not be read',
    help: 'The bytes on the connection are not a well-formed HTTP request. Check for doubled or broken headers.',
  },
  invalid_request: {
    status: 400,
    title: 'The credential was not presented in one clear way',
    help: 'Send exactly one credential, as "Authorization: Bearer <token>", and never in the query string: URLs end up in logs.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not strict JSON',
    help: 'Send one JSON object in UTF-8: no repeated members, no NUL, no lone surrogate, no "__proto__", at most 32 levels deep.',
  },
  invalid_form: {
    status: 400,
    title: 'The body is not a well-formed form',
    help: 'Send "name=value" pairs joined by "&", in UTF-8, each name once.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor does not belong to this list',
    help: 'Pass "nextCursor" of the previous page unchanged, to the same list with the same filters, or leave it out to begin again.',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'The Idempotency-Key is malformed',
    help: 'Send 1 to 255 visible ASCII characters, bare or in double quotes. A random UUID for each operation is a good choice.',
  },
  unauthenticated: {
    status: 401,
    title: 'Nobody is signed in',
    help: 'Send "Authorization: Bearer <token>" with a session token, an access token or an API key.',
  },
  invalid_token: {
    status: 401,
    title: 'The credential is not valid',
    help: 'It is unknown, malformed, expired or revoked. Sign in again, or ask for a new API key.',
  },
  invalid_credentials: {
    status: 401,
    title: 'E-mail or password is wrong',
    help: 'Check both and try again. After 10 failures in 15 minutes further tries have to wait.',
  },
  recent_sign_in_required: {
    status: 403,
    title: 'This needs a fresh sign-in',
    help: 'What cannot be undone needs a session that was opened with the password in the last 10 minutes. Sign in again, and repeat the request with the new session.',
  },
  insufficient_permission: {
    status: 403,
    title: 'The permission for this is missing',
    help: 'The member "required" names the permission, or OWNER where only an owner of the store will do. Ask somebody who manages the members of the store, or use another key.',
  },
  cannot_grant: {
    status: 403,
    title: 'Nobody gives more than they hold',
    help: 'The member "permissions" names each permission you asked to give without holding it. Leave them out, or ask somebody who holds them. Where it is empty, "detail" says what else would outreach you: a key with an end, an allow-list or a rate limit gives nothing to people and webhooks, nor to a key that is bound less than itself.',
  },
  replaced_secret: {
    status: 403,
    title: 'A secret that was replaced changes nothing',
    help: 'The key was rotated. Until its grace is over the old secret verifies and reads; to change anything, use the new one.',
  },
  own_key: {
    status: 403,
    title: 'A key does not change itself',
    help: 'Ask somebody who manages keys. A key may rotate itself, with its newest secret.',
  },
  outranked: {
    status: 403,
    title: 'That member holds permissions you do not',
    help: 'A member can be changed or removed only by somebody who holds at least the same permissions.',
  },
  user_required: {
    status: 403,
    title: 'Only a user can do this',
    help: 'This belongs to a person: call it with a session token or an access token instead of an API key or a service token.',
  },
  service_required: {
    status: 403,
    title: 'Only a service can do this',
    help: 'Call it with a service token. An owner of the store issues one with POST /v1/user/store/{storeId}/service-tokens, the operator with "storekeeper service-token create <name> --store <id>".',
  },
  key_required: {
    status: 403,
    title: 'Only an API key can do this',
    help: 'This tells an API key about itself: call it with the key as the Bearer token.',
  },
  forbidden_ip: {
    status: 403,
    title: 'The key may not be used from this address',
    help: 'The key has an allow-list of addresses, and this request came from elsewhere.',
  },
  forbidden_origin: {
    status: 403,
    title: 'A page of another origin may not use this session',
    help: 'A session in a cookie works only for pages of the service itself and of the origins in CORS_ORIGINS.',
  },
  invalid_signature: {
    status: 403,
    title: 'The signature is not valid',
    help: 'Only GitHub may call this. Its headers are missing, name a key it does not publish, or do not fit the bytes of the body. Anyone else reports a key with POST /v1/leaks.',
  },
  sign_up_closed: {
    status: 403,
    title: 'Accounts are by invitation here',
    help: 'Ask a store for an invitation, and send its token as "invitation" when you sign up.',
  },
  invitation_mismatch: {
    status: 403,
    title: 'The invitation is for somebody else',
    help: 'It was made for another e-mail address. Sign in as that user, or ask for an invitation to your own address.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here',
    help: 'No operation has this path. GET /docs lists all of them.',
  },
  store_not_found: {
    status: 404,
    title: 'No such store',
    help: 'It does not exist, or you have no part in it. GET /v1/user/store lists yours.',
  },
  service_token_not_found: {
    status: 404,
    title: 'No such service token',
    help: 'The owners of this store have issued no service token with that id.',
  },
  event_not_found: { status: 404, title: 'No such event', help: 'The trail of this store has no event with that id.' },
  key_not_found: { status: 404, title: 'No such key', help: 'This store has no key with that id.' },
  address_not_found: {
    status: 404,
    title: 'No such address',
    help: 'There is no billing address with that id in this store, or none that you may see.',
  },
  version_not_found: {
    status: 404,
    title: 'No such version',
    help: 'The address has no version of that number. Its versions are counted from 1.',
  },
  member_not_found: { status: 404, title: 'No such member', help: 'That user is not a member of this store.' },
  country_not_found: {
    status: 404,
    title: 'No such country',
    help: 'Give its ISO 3166 code of two or three letters, such as "US" or "USA". GET /v1/countries lists them all.',
  },
  invitation_not_found: {
    status: 404,
    title: 'No such invitation',
    help: 'It does not exist, was used, was withdrawn, or has ended. Ask for a new one.',
  },
  reset_not_found: {
    status: 404,
    title: 'This link no longer works',
    help: 'A link for a new password works once, for an hour, and a newer one ends the older. Ask for a new one with POST /v1/auth/reset, or ask the operator.',
  },
  confirmation_not_found: {
    status: 404,
    title: 'This link no longer works',
    help: 'A link to confirm an e-mail works once, for three days, and a newer one ends the older. Sign in and give the e-mail again with PATCH /v1/user: another link is sent.',
  },
  session_not_found: { status: 404, title: 'No such session', help: 'You have no session with that id.' },
  webhook_not_found: { status: 404, title: 'No such webhook', help: 'This store has no webhook with that id.' },
  delivery_not_found: {
    status: 404,
    title: 'No such delivery',
    help: 'This webhook has no delivery with that id. Deliveries are kept for 30 days.',
  },
  method_not_allowed: {
    status: 405,
    title: 'That method does not work here',
    help: 'The "Allow" header lists the methods that do.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    help: 'Send the headers within 10 seconds and the whole request within 30.',
  },
  limit_exceeded: {
    status: 409,
    title: 'The limit is reached',
    help: 'Nothing was removed to make room. Remove what is no longer needed, or ask the operator to raise the limit.',
  },
  key_revoked: {
    status: 409,
    title: 'The key is revoked',
    help: 'A revoked key stays revoked. Create a new one.',
  },
  key_expired: {
    status: 409,
    title: 'The key has expired',
    help: 'An expired key stays expired. Create a new one.',
  },
  rotation_conflict: {
    status: 409,
    title: 'The key was rotated at the same moment',
    help: 'Another rotation was faster, and its caller has the new secret. Read the key, and rotate again if you still want to.',
  },
  webhook_disabled: {
    status: 409,
    title: 'The webhook is switched off',
    help: 'Nothing is sent to it. Switch it on with "enabled": true first.',
  },
  last_owner: {
    status: 409,
    title: 'A store keeps at least one owner',
    help: 'Make somebody else an owner first.',
  },
  email_taken: {
    status: 409,
    title: 'There is an account with this e-mail',
    help: 'Sign in instead, or use another address.',
  },
  already_member: {
    status: 409,
    title: 'Already a member of this store',
    help: 'Nothing was changed. A manager of the store can change the role.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The first request with this Idempotency-Key is still running',
    help: 'Wait as long as "Retry-After" says and send the same request again: you will get its answer.',
  },
  secret_no_longer_available: {
    status: 409,
    title: 'It was done, and its secret can no longer be shown',
    help: 'The request succeeded the first time, and "resource" names what it made. The secret is kept for an hour and five retries, for the same credential only. Rotate or replace it to get a new one.',
  },
  precondition_failed: {
    status: 412,
    title: 'It was changed in the meantime',
    help: 'The "If-Match" you sent is not the current ETag. Read it again, and repeat your change on what you find.',
  },
  body_too_large: { status: 413, title: 'The body is too large', help: 'Send at most 64 KiB.' },
  uri_too_long: { status: 414, title: 'The URL is too long', help: 'Shorten the path or the query.' },
  unsupported_media_type: {
    status: 415,
    title: 'That content type is not understood',
    help: 'Send "Content-Type: application/json", in UTF-8 and without a Content-Encoding. (Introspection alone takes a form.)',
  },
  invalid_input: {
    status: 422,
    title: 'The request was understood, but something in it is not right',
    help: 'Each entry of "errors" points at one fault and says how to mend it.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'This Idempotency-Key was used for another request',
    help: 'An Idempotency-Key belongs to one request. Use a new one for a different request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'Wait as long as "Retry-After" says. The "RateLimit" headers show what is left.',
  },
  headers_too_large: { status: 431, title: 'The headers are too large', help: 'Send fewer or shorter headers.' },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'Nothing was changed. Try again; if it stays, give the operator the "requestId".',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer right now',
    help: 'Try again as "Retry-After" says. With the same Idempotency-Key nothing is done twice.',
  },
  overloaded: {
    status: 503,
    title: 'The service is busy',
    help: 'The request was refused before any work was begun. Try again as "Retry-After" says.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

/** One fault of the input: a pointer to it, a stable code, a sentence, and perhaps a valid value. */
export type Fault = { pointer: string; code: string; detail: string; example?: string }

export type FailureDetails = {
  /** Replaces the row's help with text about this case. */
  detail?: string
  /** Members of the problem document beside the standard ones. */
  members?: Record<string, unknown>
  retryAfterSeconds?: number
  allow?: string[]
  /** The permissions that would have done. */
  required?: string[]
  cause?: unknown
}

export class Failure extends Error {
  readonly code: ErrorCode
  readonly details: FailureDetails

  constructor(code: ErrorCode, details: FailureDetails = {}) {
    super(code, { cause: details.cause })
    this.code = code
    this.details = details
  }
}

export function fail(code: ErrorCode, details?: FailureDetails): never {
  throw new Failure(code, details)
}

const MAX_FAULTS = 32

/** The first faults: more than a person wants to read are cut off. */
export function limitFaults(faults: Fault[]): Fault[] {
  return faults.slice(0, MAX_FAULTS)
}

export function failInput(faults: Fault[]): never {
  fail('invalid_input', { members: { errors: limitFaults(faults) } })
}
