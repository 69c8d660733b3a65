// How much CBOR there is in what an authenticator sends. Decoding it takes the library some microseconds for each value, so a
// few thousand bytes could keep a node busy for a tenth of a second.

/** The statement of a device with a chain of certificates has some 30 values, a public key and its extensions have 20. */
const MAX_VALUES = 100
/** The id of a credential has at most 1,023 bytes, an RSA key of 4,096 bits has some 530. */
const MAX_AUTHENTICATOR_DATA = 4_096

const [HEADER, CREDENTIAL_HEADER] = [37, 18]
const HAS_CREDENTIAL = 0x40

/** Throws when there are more values than any authenticator sends. */
export function checkCbor(bytes: Uint8Array): void {
  if (countValues(bytes) > MAX_VALUES) throw new RangeError(`more than ${MAX_VALUES} values`)
}

/** Throws when it is longer, or has more values in its key and its extensions, than any authenticator sends. */
export function checkAuthenticatorData(data: Uint8Array): void {
  if (data.length > MAX_AUTHENTICATOR_DATA) throw new RangeError(`more than ${MAX_AUTHENTICATOR_DATA} bytes`)
  checkCbor(data.subarray(endOfCredentialId(data)))
}

function endOfCredentialId(data: Uint8Array): number {
  const [flags = 0] = data.subarray(32)
  if ((flags & HAS_CREDENTIAL) === 0) return HEADER
  const [high = 0, low = 0] = data.subarray(HEADER + 16)
  return HEADER + CREDENTIAL_HEADER + high * 256 + low
}

const [BYTES, TEXT] = [2, 3]

/**
 * Each value begins with a head: three bits say its type, five its number or length, or that this follows in the next 1, 2, 4 or
 * 8 bytes. What is in a list or a map follows it, so nothing has to be nested here.
 */
function countValues(bytes: Uint8Array): number {
  let count = 0
  for (let at = 0; at < bytes.length; count++) {
    const head = bytes[at] as number
    const [type, short] = [head >> 5, head & 31]
    // The library does not decode lengths that are not told in advance.
    if (short > 27) return Number.POSITIVE_INFINITY
    const following = short < 24 ? 0 : 2 ** (short - 24)
    at += 1 + following
    if (type !== BYTES && type !== TEXT) continue
    at += following === 0 ? short : bytes.subarray(at - following, at).reduce((length, byte) => length * 256 + byte, 0)
  }
  return count
}
