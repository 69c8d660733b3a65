import { expect, test } from 'vitest'
import type { LongWorkKind } from '../core/route.ts'
import type { Call, Pipeline } from './context.ts'
import { newLongWork, takeTurn } from './long-work.ts'

function stand(connections = 8) {
  const accountOf = async () => 'user_1'
  const pipeline = { accountOf, limits: { longWork: newLongWork(connections) } } as unknown as Pipeline
  return async (kind: LongWorkKind, caller: object, storeId: string) => {
    const call = { caller, incoming: { params: { storeId }, ip: '192.0.2.1' } } as unknown as Call
    const turn = await takeTurn(pipeline, kind, call)
    let begun: (() => void) | undefined
    const refused = () => {}
    void turn.begin().then((end) => {
      begun = end
    }, refused)
    await new Promise(setImmediate)
    return { hasBegun: () => begun !== undefined, end: () => begun?.() }
  }
}
const user = (n: number) => ({ kind: 'user', id: `user_${n}` })

test('in the line of imports a person does not wait behind the keys of their stores', async () => {
  const take = stand()
  const key = (n: number) => ({ kind: 'key', id: `key_${n}`, storeId: `store_${n}` })
  const [first, second] = [await take('import', key(1), 'store_1'), await take('import', key(2), 'store_2')]
  const third = await take('import', user(1), 'store_3')
  expect([first, second, third].map(({ hasBegun }) => hasBegun())).toEqual([true, true, true])
  // The place that is left is not for them.
  const fourth = await take('import', user(1), 'store_4')
  expect(fourth.hasBegun()).toBe(false)
  expect((await take('import', user(2), 'store_5')).hasBegun()).toBe(true)
  first.end()
  expect((await take('import', user(3), 'store_6')).hasBegun()).toBe(true)
  for (const one of [second, third]) one.end()
  await new Promise(setImmediate)
  expect(fourth.hasBegun()).toBe(true)
})

test('of four connections, as a worker has them, imports and bulk changes have two', async () => {
  const take = stand(4)
  const imports = await Promise.all([1, 2, 3].map((n) => take('import', user(n), `store_${n}`)))
  expect(imports.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false])
  const changes = await Promise.all([1, 2, 3].map((n) => take('bulk change', user(n), `store_${n}`)))
  expect(changes.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false])
})

test('whoever revokes keys in bulk does not wait for imports, into the same store either', async () => {
  const take = stand()
  const imports = await Promise.all([1, 2, 3, 4, 5].map((n) => take('import', user(n), `store_${n}`)))
  expect(imports.map(({ hasBegun }) => hasBegun())).toEqual([true, true, true, true, false])
  expect((await take('bulk change', user(5), 'store_5')).hasBegun()).toBe(true)
  await expect(take('bulk change', user(5), 'store_5')).rejects.toMatchObject({ code: 'rate_limited' })
})
