// Passkeys of the browser. The service speaks the JSON form of WebAuthn, and so do browsers since 2025.

export const hasPasskeys =
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** Null when the person chose none, or has none here. */
export async function usePasskey(options: object): Promise<object | null> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)
  return asJson(navigator.credentials.get({ publicKey }))
}

export async function createPasskey(options: object): Promise<object | null> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
  return asJson(navigator.credentials.create({ publicKey }))
}

async function asJson(asked: Promise<Credential | null>): Promise<object | null> {
  try {
    return ((await asked) as PublicKeyCredential | null)?.toJSON() ?? null
  } catch {
    return null
  }
}
