// Trying an address without storing it: what creation would answer with 422 is the answer here, so that a form can show
// it while it is being filled in.

import { type Fault, limitFaults } from '../core/errors.ts'
import type { Instance } from '../instance.ts'
import { formatAddress } from './address/format.ts'
import { normalizeAddress } from './address/normalize.ts'
import type { CheckedAddress, NewAddress } from './schema.ts'

type Tried = Omit<CheckedAddress, 'valid' | 'errors'>

export function parseTriedAddress(body: Partial<NewAddress>, _instance: Instance, faults: Fault[]): Tried {
  const { isDefault: _, ...given } = body
  const { address, preview, warnings, faults: found } = normalizeAddress(given)
  faults.push(...found)
  const formatted = preview && formatAddress(preview)
  return {
    normalized: address,
    formatted: address && formatted,
    preview: preview && { address: preview, formatted: formatted ?? [] },
    warnings,
  }
}

export function validationReport(tried: Tried, faults: Fault[]): CheckedAddress {
  const valid = faults.length === 0
  const { normalized, formatted, preview, warnings } = tried
  return {
    valid,
    normalized: valid ? normalized : null,
    formatted: valid ? formatted : null,
    preview,
    errors: limitFaults(faults),
    warnings,
  }
}
