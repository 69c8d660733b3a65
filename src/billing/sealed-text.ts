// The text of an address is sealed under its user's own key. Country, state and postal code also stand in columns of their
// own, readable for tax: they are all that remains once the user's key has been destroyed.

import { seal, unseal } from '../crypto/seal.ts'
import type { AddressWarning } from './address/findings.ts'
import type { NormalAddress } from './schema.ts'

/**
 * An address in its normal form, with its warnings and its label. The label is sealed with it: an invoice may point at it,
 * so it stays as it was written though the rules of its country may change.
 */
export type AddressText = { address: NormalAddress; warnings: AddressWarning[]; formatted: string[] }

/** Where a sealed text belongs: moved to another address, user or version it does not open. */
export type SealContext = { id: string; user_id: string; version: number }

export function sealText(key: Buffer, context: SealContext, { address, warnings, formatted }: AddressText): Buffer {
  return seal(key, JSON.stringify({ address, warnings, formatted }), aadOf(context))
}

export function unsealText(key: Buffer, row: SealContext & { sealed: Buffer }): AddressText {
  return JSON.parse(unseal(key, row.sealed, aadOf(row)).toString())
}

function aadOf({ id, user_id, version }: SealContext): string {
  return `${id}/${user_id}/${version}`
}
