// Passkeys of the browser. The service speaks the JSON form of WebAuthn, and so do browsers since 2025.

import type { Assertion, Attestation } from '@storekeeper/client'

export const hasPasskeys =
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** Null when the person chose none, or has none here. */
export function askForPasskey(options: object): Promise<Assertion | null> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
  return asJson<Assertion>(navigator.credentials.get({ publicKey }))
}

export function createPasskey(options: object): Promise<Attestation | null> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
  return asJson<Attestation>(navigator.credentials.create({ publicKey }))
}

/** WebAuthn says what `toJSON` returns; the service checks it. */
async function asJson<T>(asked: Promise<Credential | null>): Promise<T | null> {
  try {
    return (((await asked) as PublicKeyCredential | null)?.toJSON() ?? null) as T | null
  } catch {
    return null
  }
}
