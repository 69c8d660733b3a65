import { expect, test } from 'vitest'
import { shop } from '../../tests/shop.ts'
import { MINUTE } from '../core/clock.ts'
import { newAccountLookup } from './account.ts'

test('whom a store counts for is asked once, and again after a minute, while nobody waits', async () => {
  let ms = 0
  let asked = 0
  let answer = async () => ({ account: 'ada' })
  const lookUp = newAccountLookup({ one: () => (asked++, answer() as Promise<never>) }, () => ms)
  expect([await lookUp('store'), await lookUp('store'), asked]).toEqual(['ada', 'ada', 1])
  ms += MINUTE
  answer = async () => ({ account: 'bob' })
  expect([await lookUp('store'), asked]).toEqual(['ada', 2])
  expect([await lookUp('store'), asked]).toEqual(['bob', 2])
})

test('while the database is away a store counts for whom it counted, or for itself', async () => {
  let ms = 0
  let isAway = false
  const one = async () => (isAway ? Promise.reject(new Error('away')) : ({ account: 'ada' } as never))
  const lookUp = newAccountLookup({ one }, () => ms)
  expect(await lookUp('store')).toBe('ada')
  isAway = true
  ms += MINUTE
  expect([await lookUp('store'), await lookUp('store'), await lookUp('another')]).toEqual(['ada', 'ada', 'another'])
})

test('a store counts for the owner who has been in it the longest, not for an older account that was made one', async () => {
  const { api, owner, person, service } = await shop()
  const other = await person()
  const { id } = (await api.post('/v1/user/store', { name: 'Next door', registration: 'OPEN' }, { as: other.token }))
    .body
  // The account of the first owner is older than that of the one whose store it is.
  expect(owner.id < other.id).toBe(true)
  await api.post(`/v1/store/${id}/join`, undefined, { as: owner.token })
  const raise = { role: 'OWNER' }
  const raised = await api.patch(`/v1/user/store/${id}/members/${owner.id}`, raise, { as: other.token })
  expect(raised.status).toBe(200)
  const lookUp = newAccountLookup(service.db)
  expect(await lookUp(id)).toBe(other.id)
  await api.post(`/v1/store/${id}/leave`, undefined, { as: other.token })
  expect(await newAccountLookup(service.db)(id)).toBe(owner.id)
})
