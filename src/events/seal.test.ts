// The order of events: positions are given after the commit, by one node at a time, and hold under anything.

import { expect, test, vi } from 'vitest'
import { shop } from '../../tests/shop.ts'
import { readHead, readSealed } from './log.ts'

test('an event has its place within a moment', async () => {
  const { store, service } = await shop()
  await vi.waitFor(async () => expect((await readHead(service.db, store.id)).seq).toBe(1), 5_000)
  const [made] = await readSealed(service.db, store.id, 0, 10)
  expect(made).toMatchObject({ seq: 1, storeId: store.id, type: 'store.created', subject: store.id })
})
