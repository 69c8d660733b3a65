// Service tokens as they look from outside. The back ends that verify keys hold them.

import type { Static } from 'typebox'
import { pageOf } from '../core/pagination.ts'
import type { ServiceTokensRow } from '../db/tables.gen.ts'
import { DateTime, Line, Nullable } from '../schema/fields.ts'
import { Type } from '../schema/type.ts'

const closed = { additionalProperties: false }
const ServiceTokenName = Line(1, 100, {
  kind: 'exact',
  description: 'The back end that uses it.',
  examples: ['Checkout back end'],
})

export const ServiceToken = Type.Object(
  {
    id: Type.String({ examples: ['svc_01k9wz3v5e8tvs8v4m8m3v5yqd'], description: 'The id of the token.' }),
    storeId: Type.String({ description: 'The store whose keys it verifies.' }),
    name: ServiceTokenName,
    createdAt: DateTime({ description: 'When it was issued.' }),
    createdBy: Type.Object(
      {
        kind: Type.String({ description: 'Always `user`.' }),
        id: Type.String({ description: 'The id of the owner.' }),
      },
      { ...closed, description: 'The owner who issued it.' },
    ),
    revokedAt: Nullable(DateTime({ description: 'When it was revoked. `null`: it works.' })),
  },
  { title: 'ServiceToken', description: 'A service token, without its secret.', ...closed },
)
export type ServiceToken = Static<typeof ServiceToken>
export const ServiceTokens = pageOf(ServiceToken, 'ServiceTokens')
export const ServiceTokenWithSecret = Type.Object(
  {
    ...ServiceToken.properties,
    token: Type.String({ description: 'The full token, `skp_svc_…`. Store it now: it is not shown again.' }),
  },
  {
    title: 'ServiceTokenWithSecret',
    description: 'A service token with its secret, which is shown only once.',
    ...closed,
  },
)
export const NewServiceToken = Type.Object(
  { name: ServiceTokenName },
  { title: 'NewServiceToken', description: 'A service token to issue.', ...closed },
)

export type OwnedTokenRow = Pick<ServiceTokensRow, 'id' | 'name' | 'created_at' | 'revoked_at'> & {
  /** Never null for a token that an owner has issued. */
  created_by: NonNullable<ServiceTokensRow['created_by']>
}

export function showServiceToken(storeId: string, row: OwnedTokenRow): ServiceToken {
  return {
    id: row.id,
    storeId,
    name: row.name,
    createdAt: row.created_at.toISOString(),
    createdBy: { kind: 'user', id: row.created_by },
    revokedAt: row.revoked_at?.toISOString() ?? null,
  }
}
