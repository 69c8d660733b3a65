import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newTurns } from './turns.ts'

/** Work that lasts until it is told to end. */
function work() {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const state = { begun: false, end }
  const run = async () => {
    state.begun = true
    await ended
  }
  return { state, run }
}

test('a holder has three at a time, the others come in their order, and nobody else waits', async () => {
  const inTurn = newTurns()
  const works = Array.from({ length: 5 }, work)
  const done = works.map(({ run }) => inTurn('store_a', run))
  const other = work()
  const otherDone = inTurn('store_b', other.run)
  await turn()
  const begun = () => works.map(({ state }) => state.begun)
  expect(begun()).toEqual([true, true, true, false, false])
  expect(other.state.begun).toBe(true)
  works[1]?.state.end()
  await done[1]
  await turn()
  expect(begun()).toEqual([true, true, true, true, false])
  for (const { state } of [...works, other]) state.end()
  await Promise.all([...done, otherDone])
  expect(begun()).toEqual([true, true, true, true, true])
})

test('whoever waits too long is refused, and takes no place; a failure gives its place to the next', async () => {
  const inTurn = newTurns(20)
  const works = Array.from({ length: 3 }, work)
  const done = works.map(({ run }) => inTurn('store_a', run))
  const late = work()
  await expect(inTurn('store_a', late.run)).rejects.toMatchObject({
    code: 'unavailable',
    details: { retryAfterSeconds: 1 },
  })
  for (const { state } of works) state.end()
  await Promise.all(done)
  const failing = () => Promise.reject(new Error('refused'))
  for (let n = 0; n < 5; n++) await expect(inTurn('store_a', failing)).rejects.toThrow('refused')
  expect(await inTurn('store_a', async () => 'fine')).toBe('fine')
  expect(late.state.begun).toBe(false)
})

test('of very many, those are refused at once who would never have their turn', async () => {
  const inTurn = newTurns()
  const works = Array.from({ length: 204 }, work)
  const done = works.map(({ run }) => inTurn('store_a', run))
  await expect(done[203]).rejects.toMatchObject({ code: 'unavailable' })
  for (const { state } of works) state.end()
  await Promise.all(done.slice(0, 203))
})
