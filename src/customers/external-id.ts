// The external id of a customer, and where the customer is found by it.

import type { Fault } from '../core/errors.ts'
import { isPseudonym } from '../keys/owners.ts'
import { parseExternalId } from '../schema/external-id.ts'

/** Of one who may be new. A pseudonym stays that of whoever was erased: nobody gets their keys with it. */
export function parseCustomerId(text: string, pointer: string, faults: Fault[]): string | null {
  const id = parseExternalId(text, pointer, faults)
  if (id === null || !isPseudonym(id)) return id
  const detail = 'An id of this form stands for a customer who was erased. Choose another.'
  faults.push({ pointer, code: 'invalid_format', detail, example: 'customer-42' })
  return null
}

export function customerPath(storeId: string, externalId: string): string {
  return `/v1/user/store/${storeId}/customers/${encodeURIComponent(externalId)}`
}
