import { expect, onTestFinished, test, vi } from 'vitest'
import { shop } from '../../tests/shop.ts'

test('whoever reads much keeps others waiting for one of their reads, and not for all of them', async () => {
  const { api, owner, store, keys, person, service } = await shop({ alone: true })
  const other = await person()
  const { id } = (await api.post('/v1/user/store', { name: 'Another' }, { as: other.token })).body
  // Each read of the first store waits until it is let go.
  const held: (() => void)[] = []
  const query = service.db.query.bind(service.db)
  const gate = vi.spyOn(service.db, 'query').mockImplementation(async (statement) => {
    if (statement.text.includes('from api_keys') && statement.values.includes(store.id))
      await new Promise<void>((letGo) => held.push(letGo))
    return query(statement)
  })
  const letGoOfAll = () => {
    gate.mockRestore()
    for (const letGo of held) letGo()
  }
  onTestFinished(letGoOfAll)
  let read = 0
  const readAll = Array.from({ length: 40 }, async () => {
    const { status } = await api.get(keys, { as: owner.token })
    read += 1
    return status
  })
  const { serving } = service.db.connections()
  await expect.poll(() => held.length).toBe(serving - 2)
  let isRead = false
  const another = api.get(`/v1/user/store/${id}/keys`, { as: other.token }).finally(() => {
    isRead = true
  })
  await expect
    .poll(() => {
      if (!isRead) held.shift()?.()
      return isRead
    })
    .toBe(true)
  expect([(await another).status, read < 20]).toEqual([200, true])
  letGoOfAll()
  expect(await Promise.all(readAll)).toEqual(Array(40).fill(200))
})

test('a node is ready though everything that serves requests is busy', async () => {
  const { api, service } = await shop({ alone: true })
  let letGo = () => {}
  const hasEnded = new Promise<void>((resolve) => {
    letGo = resolve
  })
  onTestFinished(letGo)
  const { serving } = service.db.connections()
  const busy = Array.from({ length: serving }, () => service.db.transaction(() => hasEnded))
  const { status, body } = await api.get('/readyz')
  expect([status, body]).toEqual([200, { status: 'ready' }])
  letGo()
  await Promise.all(busy)
})
