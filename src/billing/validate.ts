// Trying an address without storing it: what creation would answer with 422 is the answer here, so that a form can show
// it while it is being filled in.

import type { Static } from 'typebox'
import { type Fault, limitFaults } from '../core/errors.ts'
import { Nullable } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'
import type { WantedAddress } from './create.ts'
import { formatAddress } from './format.ts'
import { Address, NormalAddress } from './schema.ts'

const closed = { additionalProperties: false }

const AddressFault = Type.Object(
  {
    pointer: Type.String({ examples: ['#/postalCode'] }),
    code: Type.String({ examples: ['invalid_postal_code'] }),
    detail: Type.String(),
    example: Type.Optional(Type.String()),
  },
  { title: 'AddressFault', ...closed },
)

export const CheckedAddress = Type.Object(
  {
    valid: Type.Boolean({ description: 'Whether creation would take it.' }),
    normalized: Nullable(
      Type.Object(NormalAddress.properties, {
        description: 'As it would be stored; null when it is not valid.',
        ...closed,
      }),
    ),
    formatted: Nullable(
      Type.Array(Type.String(), { description: 'The label, line by line; null when it is not valid.' }),
    ),
    errors: Type.Array(AddressFault, { description: 'What creation would answer with 422.' }),
    warnings: Address.properties.warnings,
  },
  { title: 'CheckedAddress', ...closed },
)

export function checkAddress({ address, warnings }: WantedAddress, faults: Fault[]): Static<typeof CheckedAddress> {
  const valid = faults.length === 0
  return {
    valid,
    normalized: valid ? address : null,
    formatted: valid ? formatAddress(address) : null,
    errors: limitFaults(faults),
    warnings,
  }
}
