// Sessions without signing in, whose cost is the password's.

import { DAY, fromNow, now } from '../src/core/clock.ts'
import { newId } from '../src/core/ids.ts'
import { mintToken, sha256 } from '../src/crypto/tokens.ts'
import type { Shop } from './shop.ts'

/** Another session of the user. */
export async function newSession({ sql }: Shop, userId: string): Promise<{ id: string; token: string }> {
  const [id, token] = [newId('sess'), mintToken('skp', 'sess').reveal()]
  await sql(
    'insert into sessions (id, user_id, hash, created_at, last_used_at, expires_at) values ($1, $2, $3, $4, $4, $5)',
    [id, userId, sha256(token), now(), fromNow(DAY)],
  )
  return { id, token }
}
