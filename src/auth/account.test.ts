import { expect, test } from 'vitest'
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
