// The service tokens that owners issue for their own store. The operator's tokens (src/cli/service-token.ts) are not
// listed here.

import { checkRecentSignIn } from '../auth/recent-sign-in.ts'
import type { UserCaller } from '../core/caller.ts'
import { fail } from '../core/errors.ts'
import { listPage, type Page, type PageParams } from '../core/pagination.ts'
import type { Answer } from '../core/route.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/sql.ts'
import type { Instance } from '../instance.ts'
import { issueServiceToken } from './issue.ts'
import { revokeServiceTokens } from './revoke.ts'
import { type OwnedTokenRow, type ServiceToken, showServiceToken } from './schema.ts'

/** Of one store, those that work. */
const MAX_SERVICE_TOKENS = 20

export async function createServiceToken(
  tx: Db,
  instance: Instance,
  caller: UserCaller,
  storeId: string,
  name: string,
): Promise<Answer<ServiceToken & { token: string }>> {
  await checkRecentSignIn(tx, caller)
  await checkRoom(tx, storeId)
  const scope = { storeIds: [storeId], createdBy: caller.id }
  const { id, at, token } = await issueServiceToken(tx, caller, instance.keyPrefix, name, scope)
  const row: OwnedTokenRow = { id, name, created_at: at, created_by: caller.id, revoked_at: null }
  return {
    body: { ...showServiceToken(storeId, row), token: token.reveal() },
    resource: { id, location: `/v1/user/store/${storeId}/service-tokens/${id}` },
  }
}

/** The store is locked, so the count is exact. */
async function checkRoom(tx: Db, storeId: string): Promise<void> {
  const working = await tx.query(sql`
    select id
      from service_tokens
     where store_ids = ${[storeId]}
       and created_by is not null
       and revoked_at is null
     limit ${MAX_SERVICE_TOKENS}`)
  if (working.length === MAX_SERVICE_TOKENS)
    fail('limit_exceeded', {
      detail: `This store has ${MAX_SERVICE_TOKENS} service tokens, which is the limit. Revoke one that is no longer used.`,
    })
}

export function listServiceTokens(
  db: Db,
  { keyring }: Instance,
  storeId: string,
  query: PageParams,
): Promise<Page<ServiceToken>> {
  return listPage({
    keyring,
    list: ['service-tokens', storeId],
    query,
    read: ({ after, take }) =>
      db.query<OwnedTokenRow>(sql`
        select id, name, created_at, created_by, revoked_at
          from service_tokens
         where store_ids = ${[storeId]}
           and created_by is not null
           and id < ${after}
         order by id desc
         limit ${take}`),
    positionOf: (row) => row.id,
    show: (row) => showServiceToken(storeId, row),
  })
}

type TokenRef = { storeId: string; serviceTokenId: string }

export async function readServiceToken(db: Db, ref: TokenRef): Promise<ServiceToken> {
  return showServiceToken(ref.storeId, (await find(db, ref)) ?? fail('service_token_not_found'))
}

/** Again: the same answer. */
export async function revokeServiceToken(tx: Db, caller: UserCaller, ref: TokenRef): Promise<ServiceToken> {
  const row = (await find(tx, ref)) ?? fail('service_token_not_found')
  const [revoked] = await revokeServiceTokens(tx, caller, [row.id])
  return showServiceToken(ref.storeId, { ...row, ...(revoked && { revoked_at: revoked.revoked_at }) })
}

function find(db: Db, { storeId, serviceTokenId }: TokenRef): Promise<OwnedTokenRow | null> {
  return db.one<OwnedTokenRow>(sql`
    select id, name, created_at, created_by, revoked_at
      from service_tokens
     where id = ${serviceTokenId}
       and store_ids = ${[storeId]}
       and created_by is not null`)
}
