// A little of everything the client does, for a runtime that npm run test:runtimes tries it in.

import { isStorekeeperError, storekeeper } from '@storekeeper/client'
import { readWebhook, signTestWebhook } from '@storekeeper/client/webhooks'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** `url` answers as runtimes.ts says; what is wrong is thrown. */
export async function smoke(url: string): Promise<string> {
  const sk = storekeeper({ url, token: 'skp_svc_smoke', storeId: 'store_1' })
  const store = sk.store()
  const verdict = await sk.keys.verify({ key: 'k' })
  if (!verdict.valid || verdict.keyId !== 'key_1') throw new Error(JSON.stringify(verdict))
  const names: string[] = []
  for await (const { name } of store.keys.list()) names.push(name)
  if (names.join() !== 'a,b') throw new Error(names.join())
  try {
    await store.keys.read('key_none')
    throw new Error('It should have failed')
  } catch (error) {
    if (!isStorekeeperError(error, 'key_not_found')) throw error
  }
  try {
    await store.keys.create({ name: 'x', type: 'TEST', permissions: ['READ'] }, { timeout: 300 })
    throw new Error('It should have timed out')
  } catch (error) {
    if (!isStorekeeperError(error, 'timeout') || !error.idempotencyKey) throw error
  }
  const ids: string[] = []
  for await (const { id } of store.events.follow({ after: 'evt_0' })) if (ids.push(id) === 2) break
  if (ids.join() !== 'evt_1,evt_2') throw new Error(ids.join())
  const body = '{"type":"key.revoked"}'
  const event = await readWebhook(body, await signTestWebhook(body, SECRET), SECRET)
  if (event.type !== 'key.revoked') throw new Error(event.type)
  await sk.close()
  return 'works'
}
