// Trying an address without storing it: what creation would answer with 422 is the answer here, so that a form can show
// it while it is being filled in.

import { type Fault, limitFaults } from '../core/errors.ts'
import type { AddressSpec } from './insert.ts'
import type { CheckedAddress } from './schema.ts'

export function validationReport({ address, warnings, formatted }: AddressSpec, faults: Fault[]): CheckedAddress {
  const valid = faults.length === 0
  return {
    valid,
    normalized: valid ? address : null,
    formatted: valid ? formatted : null,
    errors: limitFaults(faults),
    warnings,
  }
}
