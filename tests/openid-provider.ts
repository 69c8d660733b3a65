// An OpenID provider on this machine: it checks what a client sends as strictly as the standards say, signs in whoever it
// is told to, and misbehaves when it is told to.

import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { nowMs } from '../src/core/clock.ts'

type Claims = Record<string, unknown>

/** How it misbehaves. */
type Twists = {
  /** Changes the ID token before it is signed. */
  claims?: Claims
  /** How it is signed: not at all, with the client's secret, or with a key that is not published. */
  signature?: 'none' | 'HS256' | 'stranger'
  /** Changes the parameters that the browser is sent back with. */
  callback?: Record<string, string | undefined>
  /** Tells e-mail and name at the userinfo endpoint alone. */
  thinToken?: boolean
  /** Takes a code as often as it is sent. */
  keepsCodes?: boolean
  metadata?: Claims
  /** Answers every request, or those of one path, by itself. */
  answer?: (path: string, response: ServerResponse) => boolean
}

type Grant = { redirectUri: string; challenge: string; nonce: string; authTime: number; person: Claims }

export type OpenidProvider = {
  issuer: string
  /** The settings of a service at this public URL that is registered here. */
  settings: Record<string, string>
  /** Who signs in. */
  person: Claims
  /** When they have signed in, in seconds; undefined: whenever they are asked. */
  signedInAt: number | undefined
  twists: Twists
  /** The requests it was sent, as `METHOD /path`. */
  requests: string[]
  /** What a browser does with a redirect to it; the URL that it is sent back to. */
  visit(location: string): Promise<URL>
  /** An access token for an API, of whoever signs in. */
  accessToken(audience: string): Promise<string>
  listen(): Promise<void>
  close(): Promise<void>
}

const CLIENT = { id: 'storekeeper', secret: 'a secret: with +/=%' }
const seconds = () => Math.floor(nowMs() / 1000)

export async function openidProvider(publicUrl: string): Promise<OpenidProvider> {
  const own = await generateKeyPair('ES256', { extractable: true })
  const stranger = await generateKeyPair('ES256')
  const keys = [{ ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'ES256', use: 'sig' }]
  const grants = new Map<string, Grant>()
  const people = new Map<string, Claims>()
  let port = 0

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', provider.issuer)
    provider.requests.push(`${request.method} ${url.pathname}`)
    if (provider.twists.answer?.(url.pathname, response)) return
    void route(request, response, url)
  })

  async function route(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return json(response, 200, { ...metadata(provider.issuer), ...provider.twists.metadata })
      case '/jwks':
        return json(response, 200, { keys })
      case '/authorize':
        return authorize(url.searchParams, response)
      case '/token':
        return token(request, await bodyOf(request), response)
      case '/userinfo':
        return json(response, 200, people.get(request.headers.authorization?.slice('Bearer '.length) ?? '') ?? {})
      default:
        return json(response, 404, {})
    }
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirectUri = query.get('redirect_uri') ?? ''
    const challenge = query.get('code_challenge') ?? ''
    const nonce = query.get('nonce') ?? ''
    const isGood =
      query.get('client_id') === CLIENT.id &&
      redirectUri === `${publicUrl}/v1/auth/oidc/callback` &&
      query.get('response_type') === 'code' &&
      query.get('scope')?.split(' ').includes('openid') &&
      query.get('code_challenge_method') === 'S256' &&
      /^[\w-]{43}$/.test(challenge) &&
      nonce.length > 30 &&
      (query.get('state') ?? '').length > 30
    if (!isGood) return json(response, 400, { error: 'invalid_request' })
    const code = randomUUID()
    const isSession = provider.signedInAt !== undefined && query.get('max_age') !== '0'
    const authTime = isSession ? (provider.signedInAt as number) : seconds()
    grants.set(code, { redirectUri, challenge, nonce, authTime, person: provider.person })
    const back = new URL(redirectUri)
    const parameters = { code, state: query.get('state') as string, iss: provider.issuer, session_state: 'x' }
    for (const [name, value] of Object.entries({ ...parameters, ...provider.twists.callback }))
      if (value !== undefined) back.searchParams.set(name, value)
    response.writeHead(302, { location: back.href }).end()
  }

  async function token(request: IncomingMessage, form: URLSearchParams, response: ServerResponse): Promise<void> {
    const grant = grants.get(form.get('code') ?? '')
    if (!provider.twists.keepsCodes) grants.delete(form.get('code') ?? '')
    const [id, secret] = provider.twists.metadata?.token_endpoint_auth_methods_supported
      ? [form.get('client_id'), form.get('client_secret')]
      : clientOf(request)
    if (id !== CLIENT.id || secret !== CLIENT.secret) return json(response, 401, { error: 'invalid_client' })
    const verifier = form.get('code_verifier') ?? ''
    const isGood =
      grant !== undefined &&
      form.get('grant_type') === 'authorization_code' &&
      form.get('redirect_uri') === grant.redirectUri &&
      createHash('sha256').update(verifier).digest('base64url') === grant.challenge
    if (!isGood) return json(response, 400, { error: 'invalid_grant' })
    const accessToken = randomUUID()
    people.set(accessToken, grant.person)
    const { sub } = grant.person
    const about = provider.twists.thinToken ? { sub } : grant.person
    const claims = { ...about, nonce: grant.nonce, auth_time: grant.authTime, ...provider.twists.claims }
    json(response, 200, {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: 60,
      id_token: await sign({ aud: CLIENT.id, ...claims }),
    })
  }

  function sign(claims: Claims): Promise<string> {
    const payload = { iss: provider.issuer, iat: seconds(), exp: seconds() + 60, ...claims }
    const { signature } = provider.twists
    if (signature === 'none' || signature === 'HS256') return Promise.resolve(signWeakly(signature, payload))
    const key = signature === 'stranger' ? stranger.privateKey : own.privateKey
    return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'own' }).sign(key)
  }

  const listen = async () => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  await listen()
  const issuer = `http://127.0.0.1:${port}`
  const provider: OpenidProvider = {
    issuer,
    settings: {
      PUBLIC_URL: publicUrl,
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
    },
    person: { sub: 'ada', email: 'Ada@Example.com', email_verified: true, name: 'Ada Lovelace' },
    signedInAt: undefined,
    twists: {},
    requests: [],
    visit: async (location) => {
      const response = await fetch(location, { redirect: 'manual' })
      if (response.status !== 302) throw new Error(`the provider answers ${response.status} ${await response.text()}`)
      return new URL(response.headers.get('location') as string)
    },
    accessToken: (audience) => sign({ aud: audience, sub: provider.person.sub }),
    listen,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
  return provider
}

function metadata(issuer: string): Claims {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    id_token_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** RFC 6749, 2.3.1: both parts are encoded as in a form. */
function clientOf(request: IncomingMessage): string[] {
  const basic = Buffer.from((request.headers.authorization ?? '').slice('Basic '.length), 'base64').toString()
  return basic.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
}

function signWeakly(alg: 'none' | 'HS256', payload: Claims): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${part({ alg })}.${part(payload)}`
  return `${input}.${alg === 'none' ? '' : createHmac('sha256', CLIENT.secret).update(input).digest('base64url')}`
}

async function bodyOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
