import { expect, test } from 'vitest'
import { lazy } from './lazy.ts'

test('what is made once is kept, and a failure is not', async () => {
  let tries = 0
  const get = lazy(async () => {
    tries += 1
    if (tries === 1) throw new Error('Not there')
    return { tries }
  })
  const [first, beside] = await Promise.allSettled([get(), get()])
  expect([first.status, beside.status]).toEqual(['rejected', 'rejected'])
  const made = await get()
  expect(made).toEqual({ tries: 2 })
  expect(await get()).toBe(made)
})
