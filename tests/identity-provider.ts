// An identity provider whose access tokens the service accepts.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'

/** `settings` are those of a service that accepts what `token` signs. */
export async function identityProvider() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] })),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const settings = {
    JWT_ISSUER: 'https://idp.example',
    JWT_AUDIENCE: 'storekeeper',
    JWT_JWKS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
  }
  const token = (subject: string) =>
    new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer(settings.JWT_ISSUER)
      .setAudience(settings.JWT_AUDIENCE)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
  return { settings, token }
}
