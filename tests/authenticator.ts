// An authenticator in software: makes passkeys and signs with them, as a browser with a security key would.

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A test looks into options freely, and a wrong look fails it. */
type Options = any

const [PRESENT, VERIFIED, ATTESTED, EXTENDED] = [1, 4, 64, 128]
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest()
const b64 = (bytes: string | Buffer) => Buffer.from(bytes).toString('base64url')

/** What an authenticator may do otherwise than it should. */
type Otherwise = {
  origin?: string
  rpId?: string
  verified?: boolean
  count?: number
  userHandle?: string
  /** A format and a statement of it, in CBOR. */
  statement?: [string, string]
  /** A member of the public key, in CBOR. */
  keyMember?: string
  /** In CBOR. */
  extensions?: string
}

export function newAuthenticator(origin = 'http://localhost:3000') {
  const id = randomBytes(16)
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let userHandle = ''
  let count = 0
  const clientData = (type: string, challenge: string, at: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: at, crossOrigin: false }))
  const authData = (rpId: string, flags: number, used: number) => {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(used)
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), counter])
  }
  const flagsOf = ({ verified = true, extensions }: Otherwise) =>
    PRESENT | (verified ? VERIFIED : 0) | (extensions ? EXTENDED : 0)
  const named = { id: b64(id), rawId: b64(id), type: 'public-key', clientExtensionResults: {} }
  return {
    id: named.id,
    register(options: Options, otherwise: Otherwise = {}) {
      userHandle = options.user.id
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      const cose = Buffer.concat([
        Buffer.from(`${otherwise.keyMember ? 'a6' : 'a5'}010203262001215820`, 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
        Buffer.from(otherwise.keyMember ?? '', 'hex'),
      ])
      const data = Buffer.concat([
        authData(otherwise.rpId ?? options.rp.id, flagsOf(otherwise) | ATTESTED, otherwise.count ?? count),
        Buffer.alloc(16),
        Buffer.from([0, id.length]),
        id,
        cose,
        Buffer.from(otherwise.extensions ?? '', 'hex'),
      ])
      // {"fmt": "none", "attStmt": {}, "authData": data} in CBOR.
      const [format, statement] = otherwise.statement ?? ['646e6f6e65', 'a0']
      const head = Buffer.from(`a363666d74${format}6761747453746d74${statement}68617574684461746159`, 'hex')
      const attestationObject = Buffer.concat([head, Buffer.from([data.length >> 8, data.length & 255]), data])
      const clientDataJSON = clientData('webauthn.create', options.challenge, otherwise.origin ?? origin)
      return {
        ...named,
        response: {
          clientDataJSON: b64(clientDataJSON),
          attestationObject: b64(attestationObject),
          transports: ['internal', 'telepathy'],
        },
      }
    },
    use(options: Options, otherwise: Otherwise = {}) {
      count = otherwise.count ?? count + 1
      const data = Buffer.concat([
        authData(otherwise.rpId ?? options.rpId, flagsOf(otherwise), count),
        Buffer.from(otherwise.extensions ?? '', 'hex'),
      ])
      const clientDataJSON = clientData('webauthn.get', options.challenge, otherwise.origin ?? origin)
      const signature = sign('sha256', Buffer.concat([data, sha256(clientDataJSON)]), privateKey)
      return {
        ...named,
        response: {
          clientDataJSON: b64(clientDataJSON),
          authenticatorData: b64(data),
          signature: b64(signature),
          userHandle: otherwise.userHandle ?? userHandle,
        },
      }
    },
  }
}

/** The secret of an authenticator app, as its user types it. */
export function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  )
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
