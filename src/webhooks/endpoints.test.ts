import { expect, onTestFinished, test } from 'vitest'
import { shop } from '../../tests/shop.ts'
import { ServerKeys } from '../crypto/keyring.ts'
import { connect } from '../db/pool.ts'
import type { Instance } from '../instance.ts'
import { loadEndpoints } from './endpoints.ts'

test('all stores of an account count for it, whoever else owns them or created the webhook', async () => {
  const { api, owner, store, member, person, sql, databaseUrl, serverSecret } = await shop({ alone: true })
  const second = await member('OWNER')
  const stranger = await person()
  const open = async (as: string) => (await api.post('/v1/user/store', { name: 'Another' }, { as })).body.id as string
  const stores = [store.id, await open(owner.token), await open(stranger.token)]
  await sql(
    `insert into webhooks (id, store_id, url, types, secret, secret_kid, created_by_kind, created_by_id, created_at, updated_at)
     select 'wh_' || nth, store_id, 'https://shop.example', '{*}', '', '', 'user', $2, now(), now()
       from unnest($1::text[]) with ordinality as given(store_id, nth)`,
    [stores, second.id],
  )
  const db = connect({ connectionString: databaseUrl })
  onTestFinished(() => db.close())
  const keyring = { current: new ServerKeys(Buffer.from(serverSecret, 'base64')), previous: null }
  const endpoints = await loadEndpoints(db, { keyring } as Instance, ['wh_1', 'wh_2', 'wh_3'])
  const accounts = ['wh_1', 'wh_2', 'wh_3'].map((id) => endpoints.get(id)?.account)
  expect(accounts).toEqual([owner.id, owner.id, stranger.id])
})
