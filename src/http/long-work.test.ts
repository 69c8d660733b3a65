import { expect, test } from 'vitest'
import type { Call, Pipeline } from './context.ts'
import { newLongWork, takeTurn } from './long-work.ts'

test('in the line of imports a person does not wait behind the keys of their stores', async () => {
  const db = { query: async () => [{ user_id: 'user_1' }] }
  const pipeline = { db, limits: { longWork: newLongWork() } } as unknown as Pipeline
  const turn = (caller: object, storeId: string) =>
    takeTurn(pipeline, { caller, incoming: { params: { storeId }, ip: '192.0.2.1' } } as unknown as Call)
  const key = await turn({ kind: 'key', id: 'key_1', storeId: 'store_1' }, 'store_1')
  const person = await turn({ kind: 'user', id: 'user_1' }, 'store_1')
  expect([key.account, person.account]).toEqual(['keys of user_1', 'user_1'])
})
