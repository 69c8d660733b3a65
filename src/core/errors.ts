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
    title: 'Malformed HTTP request',
    help: 'The bytes on the connection are not a valid HTTP request. Check for repeated or broken headers.',
  },
  invalid_request: {
    status: 400,
    title: 'Ambiguous credentials',
    help: 'Send exactly one credential, as "Authorization: Bearer <token>", and never in the query string: URLs end up in logs.',
  },
  sign_in_incomplete: {
    status: 400,
    title: 'Sign-in not completed',
    help: 'Single sign-on must be completed within 10 minutes, once, in the browser where it was started. Start again at GET /v1/auth/oidc/start.',
  },
  invalid_json: {
    status: 400,
    title: 'Invalid JSON',
    help: 'Send one JSON object in UTF-8, with no repeated fields, NUL characters, lone surrogates or "__proto__", and at most 32 levels deep.',
  },
  invalid_form: {
    status: 400,
    title: 'Invalid form',
    help: 'Send "name=value" pairs joined by "&", in UTF-8, each name once.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Invalid cursor',
    help: 'Pass "nextCursor" of the previous page unchanged, to the same list with the same filters, or leave it out to start over.',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'Invalid Idempotency-Key',
    help: 'Send 1 to 255 visible ASCII characters, bare or in double quotes. A random UUID for each operation is a good choice.',
  },
  unauthenticated: {
    status: 401,
    title: 'Missing credentials',
    help: 'Send "Authorization: Bearer <token>" with a session token, an access token or an API key.',
  },
  invalid_token: {
    status: 401,
    title: 'Invalid credentials',
    help: 'The token is unknown, malformed, expired or revoked. Sign in again, or ask for a new API key.',
  },
  invalid_credentials: {
    status: 401,
    title: 'Wrong e-mail or password',
    help: 'Check what you sent and try again. After 10 failures within 15 minutes you have to wait.',
  },
  second_factor_required: {
    status: 401,
    title: 'Second factor required',
    help: 'The password is correct, but the account has a second factor. Send "challenge" to POST /v1/auth/second-factor within 5 minutes, with a code or a passkey; "methods" lists what you can use.',
  },
  invalid_code: {
    status: 401,
    title: 'Wrong code',
    help: 'The code is wrong, too old, or was already used: each code works once. Wait for the next one and try again with the same challenge. After 10 failures within 15 minutes you have to wait.',
  },
  invalid_passkey: {
    status: 401,
    title: 'Passkey not accepted',
    help: 'The passkey is unknown, or its response is invalid, too old or was already used. Request new options and try again, or sign in with your password.',
  },
  invalid_challenge: {
    status: 401,
    title: 'Sign-in expired',
    help: 'A challenge works once, within 5 minutes, and stops working when the password changes. Start again with your password.',
  },
  sign_in_required: {
    status: 403,
    title: 'Sign-in required',
    help: 'This link gives an account another e-mail address, or one that other accounts want too. It only works for somebody who is signed in to the account it was sent for. Sign in to that account and send the same token with its session. If you cannot sign in, request a password reset for the address.',
  },
  recent_sign_in_required: {
    status: 403,
    title: 'Recent sign-in required',
    help: 'This needs a session that was opened within the last 10 minutes. Sign in again and repeat the request with the new session.',
  },
  insufficient_permission: {
    status: 403,
    title: 'Missing permission',
    help: '"required" names the permission you need, or OWNER where only an owner of the store may do this. Ask somebody who manages the store\'s members, or use another key.',
  },
  cannot_grant: {
    status: 403,
    title: "You can't grant a permission you don't have",
    help: '"permissions" lists each permission you tried to grant without having it. Leave them out, or ask somebody who has them. If it is empty, "detail" says what else you tried to exceed: a key with an expiry, an allowlist or a rate limit cannot grant anything to people or webhooks, nor to a key that is less restricted than itself.',
  },
  replaced_secret: {
    status: 403,
    title: 'This secret was replaced',
    help: 'The key was rotated. During the grace period the old secret can be verified and can read; to change anything, use the new secret.',
  },
  own_key: {
    status: 403,
    title: "A key can't change itself",
    help: 'Ask somebody who manages keys. A key may rotate itself, with its newest secret.',
  },
  outranked: {
    status: 403,
    title: "That member has permissions you don't have",
    help: 'Only somebody with at least the same permissions can change or remove a member.',
  },
  user_required: {
    status: 403,
    title: 'Users only',
    help: 'Call this with a session token or an access token, not with an API key or a service token.',
  },
  service_required: {
    status: 403,
    title: 'Services only',
    help: 'Call it with a service token. An owner of the store issues one with POST /v1/user/store/{storeId}/service-tokens, the operator with "storekeeper service-token create <name> --store <id>".',
  },
  key_required: {
    status: 403,
    title: 'API keys only',
    help: 'This shows an API key its own record: call it with the key as the bearer token.',
  },
  forbidden_ip: {
    status: 403,
    title: 'IP address not allowed',
    help: "The key's allowlist does not contain the address this request came from.",
  },
  forbidden_origin: {
    status: 403,
    title: 'Origin not allowed',
    help: "A session cookie works only for the service's own pages and for the origins in CORS_ORIGINS.",
  },
  invalid_signature: {
    status: 403,
    title: 'Invalid signature',
    help: 'This is for GitHub only. The signature headers are missing, name an unknown key, or do not match the body. Anyone else can report a key with POST /v1/leaks.',
  },
  sign_in_refused: {
    status: 403,
    title: 'Sign-in refused',
    help: 'The identity provider did not sign you in, or the account is disabled. Contact the operator of the service.',
  },
  sign_up_closed: {
    status: 403,
    title: 'Sign-up is by invitation only',
    help: 'Ask a store for an invitation, and send its token as "invitation" when you sign up.',
  },
  invitation_mismatch: {
    status: 403,
    title: 'This invitation is for somebody else',
    help: 'It was sent to a different e-mail address. Sign in as that user, or ask for an invitation to your own address.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    help: 'There is no operation at this path. GET /docs/reference lists them all.',
  },
  store_not_found: {
    status: 404,
    title: 'Store not found',
    help: 'It does not exist, or you are not a member. GET /v1/user/store lists your stores.',
  },
  service_token_not_found: {
    status: 404,
    title: 'Service token not found',
    help: 'The owners of this store have not issued a service token with that id.',
  },
  event_not_found: { status: 404, title: 'Event not found', help: 'This store has no event with that id.' },
  key_not_found: { status: 404, title: 'Key not found', help: 'This store has no key with that id.' },
  address_not_found: {
    status: 404,
    title: 'Address not found',
    help: 'This store has no billing address with that id, or none that you may see.',
  },
  version_not_found: {
    status: 404,
    title: 'Version not found',
    help: 'The address has no version with that number. Versions are numbered from 1.',
  },
  hold_not_found: {
    status: 404,
    title: 'Hold not found',
    help: 'This version of the address is not on hold, or its hold has ended.',
  },
  member_not_found: { status: 404, title: 'Member not found', help: 'That user is not a member of this store.' },
  customer_not_found: {
    status: 404,
    title: 'Customer not found',
    help: 'This store has no customer with that external id. PUT creates one; write a slash in the id as %2F.',
  },
  country_not_found: {
    status: 404,
    title: 'Country not found',
    help: 'Use an ISO 3166 code of two or three letters, such as "US" or "USA". GET /v1/countries lists them all.',
  },
  invitation_not_found: {
    status: 404,
    title: 'Invitation not found',
    help: 'It does not exist, was already used, was withdrawn, or has expired. Ask for a new one.',
  },
  reset_not_found: {
    status: 404,
    title: 'Reset link not found',
    help: 'A reset link works once, within an hour, and only the newest one is valid. Request a new one with POST /v1/auth/reset, or ask the operator.',
  },
  confirmation_not_found: {
    status: 404,
    title: 'Confirmation link not found',
    help: 'A confirmation link works once, within three days, and only the newest one is valid. To get another, sign in and send the e-mail address again with PATCH /v1/user.',
  },
  session_not_found: { status: 404, title: 'Session not found', help: 'You have no session with that id.' },
  passkey_not_found: { status: 404, title: 'Passkey not found', help: 'You have no passkey with that id.' },
  second_factor_not_found: {
    status: 404,
    title: 'Second factor not found',
    help: 'You have not set up this second factor. "secondFactor" in GET /v1/user shows what you have.',
  },
  webhook_not_found: { status: 404, title: 'Webhook not found', help: 'This store has no webhook with that id.' },
  delivery_not_found: {
    status: 404,
    title: 'Delivery not found',
    help: 'This webhook has no delivery with that id. Deliveries are kept for 30 days.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    help: 'The "Allow" header lists the methods that work here.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    help: 'Send the headers within 10 seconds and the whole request within 30.',
  },
  limit_exceeded: {
    status: 409,
    title: 'Limit reached',
    help: 'Nothing was deleted to make room. Delete what you no longer need, or ask the operator to raise the limit.',
  },
  signed_in_as_another: {
    status: 409,
    title: 'Signed in as somebody else',
    help: 'Nothing was done: the request was made for the user in "Expected-User", and its credential is not theirs. GET /v1/user without the header shows who is signed in. Send the header once, with a user id.',
  },
  key_revoked: {
    status: 409,
    title: 'Key revoked',
    help: 'A revoked key cannot be brought back. Create a new one.',
  },
  key_expired: {
    status: 409,
    title: 'Key expired',
    help: 'An expired key cannot be brought back. Create a new one.',
  },
  no_credits: {
    status: 409,
    title: 'Key has no credits',
    help: 'Only a key that has credits can be given more. Change the key, with `credits`, to give it some.',
  },
  rotation_conflict: {
    status: 409,
    title: 'Rotation conflict',
    help: 'Another rotation came first, and its caller has the new secret, or gets it by repeating the request with the same Idempotency-Key. Read the key, and rotate it again if you still want to: after 10 seconds, in case the other was cut off.',
  },
  webhook_disabled: {
    status: 409,
    title: 'Webhook disabled',
    help: 'Nothing is sent to it. Enable it with "enabled": true first.',
  },
  last_owner: {
    status: 409,
    title: 'A store needs at least one owner',
    help: 'Make somebody else an owner first.',
  },
  email_taken: {
    status: 409,
    title: 'E-mail already in use',
    help: 'Sign in instead, or use another address.',
  },
  no_password: {
    status: 409,
    title: 'This account has no password',
    help: 'You sign in with an identity provider. Set up a second factor there.',
  },
  already_member: {
    status: 409,
    title: 'Already a member',
    help: 'Nothing was changed. Somebody who manages members can change the role.',
  },
  version_erased: {
    status: 409,
    title: 'The version was erased',
    help: 'Its user was erased. Without a hold only country, state and postal code are left, and the rest cannot be recovered. A hold that it has can be released, or shortened with the same `reason`.',
  },
  already_linked: {
    status: 409,
    title: 'Already linked',
    help: 'An external id belongs to one user of the store, and a user has one external id there. Nothing was changed. Delete the customer first to link them again.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'Request still in progress',
    help: 'The first request with this Idempotency-Key is still running. Wait for "Retry-After" and send the same request again to get its response.',
  },
  secret_no_longer_available: {
    status: 409,
    title: 'Secret no longer available',
    help: 'The request succeeded the first time, and "resource" names what it created. Its secret could be fetched again for an hour, up to five times, with the same credential. Rotate or replace it to get a new one.',
  },
  response_no_longer_available: {
    status: 409,
    title: 'Response no longer available',
    help: 'The request succeeded the first time, and nothing was done again. Its response named a customer who has been erased since ("resource" is the key that it was about), or a store in which you no longer are, or it was not stored, since as much is stored for you as may be.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    help: 'It was changed in the meantime: your "If-Match" is not the current ETag. Read it again and repeat your change.',
  },
  body_too_large: { status: 413, title: 'Body too large', help: 'Send at most 64 KiB, or 2 MiB in an import.' },
  uri_too_long: { status: 414, title: 'URL too long', help: 'Shorten the path or the query.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    help: 'Send "Content-Type: application/json" in UTF-8, without a Content-Encoding. (Only introspection takes a form.)',
  },
  invalid_input: {
    status: 422,
    title: 'Invalid input',
    help: 'Each entry of "errors" points to one problem and says how to fix it.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'Idempotency-Key already used',
    help: 'An Idempotency-Key belongs to one request. Use a new one for a different request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'Wait for "Retry-After" seconds. The "RateLimit" headers show how much is left.',
  },
  headers_too_large: { status: 431, title: 'Headers too large', help: 'Send fewer or shorter headers.' },
  internal_error: {
    status: 500,
    title: 'Internal error',
    help: 'Nothing was changed. Try again; if it keeps happening, give the operator the "requestId".',
  },
  unavailable: {
    status: 503,
    title: 'Service unavailable',
    help: 'Try again after "Retry-After" seconds. With the same Idempotency-Key nothing is done twice.',
  },
  overloaded: {
    status: 503,
    title: 'Service overloaded',
    help: 'The request was refused before any work was done. Try again after "Retry-After" seconds.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

/** One fault of the input: a pointer to it, a stable code, a sentence, and perhaps a valid value or the one that was meant. */
export type Fault = { pointer: string; code: string; detail: string; example?: string; suggestion?: string }

export type FailureDetails = {
  /** Replaces the row's help with text about this case. */
  detail?: string
  /** Members of the problem document beside the standard ones. */
  members?: Record<string, unknown>
  retryAfterSeconds?: number
  allow?: string[]
  /** The permissions that would have done. */
  required?: string[]
  /** Headers of the answer beside those that follow from the code. */
  headers?: Record<string, string>
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

export const MAX_FAULTS = 32

/** The first faults: more than a person wants to read are cut off. */
export function limitFaults(faults: Fault[]): Fault[] {
  return faults.slice(0, MAX_FAULTS)
}

/** Of all lines of an import together. */
const MAX_FAULTS_OF_LINES = 5_000

/** For the lines of one answer: the first faults of each, and only the very first once there have been very many. */
export function newFaultLimit(): (faults: Fault[]) => Fault[] {
  let left = MAX_FAULTS_OF_LINES
  return (faults) => {
    const shown = limitFaults(faults).slice(0, Math.max(1, left))
    left -= shown.length
    return shown
  }
}

export function failInput(faults: Fault[]): never {
  fail('invalid_input', { members: { errors: limitFaults(faults) } })
}
