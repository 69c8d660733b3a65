// What we ask authenticators for, and the check of what they answer, which a library does. It is loaded with the first
// passkey: loading it takes as long as all the rest of a start.

import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { UserCaller } from '../core/caller.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { PasskeysRow } from '../db/tables.gen.ts'
import type { Instance } from '../instance.ts'
import { checkAuthenticatorData, checkCbor } from './cbor.ts'
import type { Assertion, Attestation } from './factor-schema.ts'

export const loadWebAuthn = () => import('@simplewebauthn/server')
const loadHelpers = () => import('@simplewebauthn/server/helpers')

/** Ed25519, ECDSA with P-256, and RSA with SHA-256: every authenticator has one of them. */
const ALGORITHMS = [-8, -7, -257]
const TIMEOUT_MS = 300_000
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/** Passkeys belong to the host of PUBLIC_URL, or to this machine. (A host that is an IP address can have none.) */
function hostOf({ publicUrl }: Instance): string {
  return publicUrl === null ? 'localhost' : new URL(publicUrl).hostname
}

export function creationOptions(instance: Instance, caller: UserCaller, challenge: string, known: Descriptor[]) {
  const account = caller.email ?? caller.id
  return {
    rp: { id: hostOf(instance), name: instance.name },
    user: { id: toUserHandle(caller.id), name: account, displayName: caller.name ?? account },
    challenge,
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    excludeCredentials: known,
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  }
}

/** Without `allowed` any passkey for this host will do. */
export function requestOptions(instance: Instance, challenge: string, allowed: Descriptor[] = []) {
  return {
    rpId: hostOf(instance),
    challenge,
    timeout: TIMEOUT_MS,
    allowCredentials: allowed,
    userVerification: 'required',
  }
}

type Descriptor = { type: 'public-key'; id: string; transports: string[] }

export async function describePasskeys(db: Db, userId: string): Promise<Descriptor[]> {
  const rows = await db.query<Pick<PasskeysRow, 'credential_id' | 'transports'>>(sql`
    select credential_id, transports
      from passkeys
     where user_id = ${userId}
     order by id desc`)
  return rows.map(({ credential_id: id, transports }) => ({
    type: 'public-key',
    id: id.toString('base64url'),
    transports,
  }))
}

/** How an authenticator names the user that a passkey belongs to. */
export function toUserHandle(userId: string): string {
  return Buffer.from(userId).toString('base64url')
}

type ClientData = { challenge: string; origin: string }

/** What the browser says it was asked to sign and where: read before the signature is checked, to find the challenge. */
export function readClientData({ response }: Attestation | Assertion): ClientData {
  try {
    const { challenge, origin } = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString())
    if (typeof challenge === 'string' && typeof origin === 'string') return { challenge, origin }
  } catch {
    // Not JSON: no challenge of ours.
  }
  return { challenge: '', origin: '' }
}

/** Without PUBLIC_URL the port may be any, as browsers let a passkey of localhost be used from any. */
function expectedOrigin({ publicUrl }: Instance, { origin }: ClientData): string {
  if (publicUrl !== null) return publicUrl
  return /^http:\/\/localhost(:\d{1,5})?$/.test(origin) ? origin : 'http://localhost'
}

export type NewCredential = Pick<PasskeysRow, 'credential_id' | 'public_key' | 'transports' | 'backed_up'> & {
  signCount: number
}

/**
 * What it says of its make is left out, as browsers do when nobody asks for it. The library would follow certificates that the
 * caller made, and fetch whatever addresses they name.
 */
async function withoutStatement({ response, ...credential }: Attestation): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoCBOR } = await loadHelpers()
  const sent = new Uint8Array(Buffer.from(response.attestationObject, 'base64url'))
  checkCbor(sent)
  const authData = decodeAttestationObject(sent).get('authData')
  checkAuthenticatorData(authData)
  const kept = new Map<string, string | Uint8Array | Map<string, never>>()
  kept.set('fmt', 'none').set('attStmt', new Map<string, never>()).set('authData', authData)
  const attestationObject = Buffer.from(isoCBOR.encode(kept)).toString('base64url')
  // The schema has checked the members that the library reads; it checks their content.
  return {
    clientExtensionResults: {},
    ...credential,
    response: { ...response, attestationObject },
  } as RegistrationResponseJSON
}

/** Null when what the authenticator says is not right. */
export async function verifyAttestation(
  instance: Instance,
  credential: Attestation,
  challenge: string,
): Promise<NewCredential | null> {
  const { verifyRegistrationResponse } = await loadWebAuthn()
  const verify = async () =>
    verifyRegistrationResponse({
      response: await withoutStatement(credential),
      expectedChallenge: challenge,
      expectedOrigin: expectedOrigin(instance, readClientData(credential)),
      expectedRPID: hostOf(instance),
      supportedAlgorithmIDs: ALGORITHMS,
    })
  const { registrationInfo: info } = await verify().catch(() => ({ registrationInfo: undefined }))
  if (!info) return null
  return {
    credential_id: Buffer.from(info.credential.id, 'base64url'),
    public_key: Buffer.from(info.credential.publicKey),
    transports: TRANSPORTS.filter((transport) => credential.response.transports?.includes(transport)),
    backed_up: info.credentialBackedUp,
    signCount: info.credential.counter,
  }
}

export type StoredCredential = Pick<PasskeysRow, 'credential_id' | 'public_key' | 'sign_count'>

/** How often the authenticator says it was used, or null when what it says is not right. */
export async function verifyAssertion(
  instance: Instance,
  credential: Assertion,
  challenge: string,
  stored: StoredCredential,
): Promise<{ signCount: number; backedUp: boolean } | null> {
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  const verify = async () => {
    checkAuthenticatorData(Buffer.from(credential.response.authenticatorData, 'base64url'))
    return verifyAuthenticationResponse({
      response: { clientExtensionResults: {}, ...credential } as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: expectedOrigin(instance, readClientData(credential)),
      expectedRPID: hostOf(instance),
      credential: {
        id: stored.credential_id.toString('base64url'),
        publicKey: new Uint8Array(stored.public_key),
        counter: Number(stored.sign_count),
      },
    })
  }
  const answer = await verify().catch(() => null)
  if (!answer?.verified) return null
  const { newCounter, credentialBackedUp } = answer.authenticationInfo
  return { signCount: newCounter, backedUp: credentialBackedUp }
}
