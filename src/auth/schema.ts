// Single sign-on, as the routes see it. The client itself is in oidc.ts.

/** What a browser set out with, and must come back with. It keeps it in a sealed cookie; the service keeps nothing. */
export type SignInAttempt = {
  state: string
  nonce: string
  /** PKCE (RFC 7636): only its hash is shown to the provider before the code is redeemed. */
  verifier: string
  /** Whether the person must sign in at the provider now, whatever session they have there. */
  fresh: boolean
  returnTo: string
  /** When it was started, in milliseconds since 1970. */
  startedAt: number
}

/** Whom the provider vouches for. */
export type ProviderIdentity = {
  issuer: string
  subject: string
  /** When the person signed in at the provider (`auth_time`), if it says. */
  authenticatedAt: Date | null
  /** Only one that the provider has verified. */
  email: string | null
  /** As UserCaller has it. */
  claimedEmail: string | null
  name: string | null
}

export type OidcClient = {
  /** Where the browser is sent. */
  authorizationUrl(attempt: SignInAttempt): Promise<string>
  /** Redeems the code that the browser came back with. Fails unless all that belongs to the attempt is as it must be. */
  identify(response: URLSearchParams, attempt: SignInAttempt): Promise<ProviderIdentity>
}
