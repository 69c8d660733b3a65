import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { shop } from '../../tests/shop.ts'
import type { WireResponse } from '../core/route.ts'
import { databaseFailure } from '../db/errors.ts'
import { newConnectionSlots } from './connection-slots.ts'
import type { Call, Pipeline } from './context.ts'
import { inReadSlot, newLargeReads } from './read-slots.ts'

test('whoever reads much, however slowly, keeps nobody else waiting', async () => {
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
  // One connection is left to the node itself, and a third of the others to accounts that have nothing under way.
  const { serving } = service.db.connections()
  await expect.poll(() => held.length).toBe(serving - 1 - Math.floor((serving - 1) / 3))
  expect((await api.get(`/v1/user/store/${id}/keys`, { as: other.token })).status).toBe(200)
  expect(read).toBe(0)
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

test('of reads that take long a node has two under way, of two accounts', async () => {
  const pipeline = { limits: { slots: newConnectionSlots(8), largeReads: newLargeReads() } } as unknown as Pipeline
  const read = (ip: string, work: () => Promise<WireResponse>) =>
    inReadSlot(
      pipeline,
      { route: { method: 'GET', id: 'slow' }, caller: null, incoming: { ip }, account: ip } as unknown as Call,
      work,
    )
  const tooSlow = async () => {
    throw databaseFailure(Object.assign(new pg.DatabaseError('too slow', 0, 'error'), { code: '57014' }))
  }
  const places = ['192.0.2.1', '192.0.2.2', '192.0.2.3']
  for (const ip of places) await expect(read(ip, tooSlow)).rejects.toMatchObject({ code: 'unavailable' })
  const under: string[] = []
  const letGo: (() => void)[] = []
  const reads = [...places, ...places].map((ip) =>
    read(ip, async () => {
      under.push(ip)
      await new Promise<void>((resolve) => letGo.push(resolve))
      return { body: '' } as unknown as WireResponse
    }),
  )
  await expect.poll(() => under).toEqual(['192.0.2.1', '192.0.2.2'])
  letGo.shift()?.()
  await expect.poll(() => under).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3'])
  await expect.poll(() => (letGo.shift()?.(), under.length)).toBe(6)
  for (const go of letGo) go()
  await Promise.all(reads)
})
