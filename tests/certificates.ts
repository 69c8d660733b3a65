// Certificates for servers of tests, written as X.509 has them (RFC 5280).

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

const [INTEGER, BITS, OID, TEXT, TIME, SEQUENCE, SET] = [0x02, 0x03, 0x06, 0x0c, 0x17, 0x30, 0x31]

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const oid = (hex: string) => der(OID, Buffer.from(hex, 'hex'))
const nameOf = (text: string) => der(SEQUENCE, der(SET, der(SEQUENCE, oid('550403'), der(TEXT, Buffer.from(text)))))
const ECDSA_WITH_SHA256 = der(SEQUENCE, oid('2a8648ce3d040302'))
const VALIDITY = der(SEQUENCE, ...['250101000000Z', '490101000000Z'].map((time) => der(TIME, Buffer.from(time))))

function certificate(subject: string, publicKey: KeyObject, issuer: string, issuerKey: KeyObject): string {
  const signed = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1])),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    VALIDITY,
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = der(BITS, Buffer.from([0]), sign('sha256', signed, issuerKey))
  const lines = der(SEQUENCE, signed, ECDSA_WITH_SHA256, signature).toString('base64').replace(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines.trim()}\n-----END CERTIFICATE-----\n`
}

/** A server's key, and so many certificates, each signed with the key of the next. Nobody trusts the last one. */
export function newChain(length: number): { key: string; cert: string } {
  const keys = Array.from({ length: length + 1 }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }))
  const keyOf = (n: number) => keys[n] as (typeof keys)[number]
  const certs = Array.from({ length }, (_, n) =>
    certificate(`c${n}`, keyOf(n).publicKey, `c${n + 1}`, keyOf(n + 1).privateKey),
  )
  return { key: keyOf(0).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, cert: certs.join('') }
}
