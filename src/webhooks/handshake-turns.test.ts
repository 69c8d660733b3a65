import { expect, test, vi } from 'vitest'
import { newHandshakeTurns } from './handshake-turns.ts'

const CHEAP = 5
const COSTLY = 80

test('the handshakes of a receiver come one at a time until one has cost little, then four, and none waits for another receiver, or another account', async () => {
  const turns = newHandshakeTurns()
  const inside: string[] = []
  const enter = async (name: string, address: string) => {
    const end = await turns.enter('user_1', address)
    inside.push(name)
    return end
  }
  const entering = Array.from({ length: 6 }, (_, n) => enter(`a${n}`, '192.0.2.1'))
  const end = await (entering[0] as (typeof entering)[number])
  await enter('b', '192.0.2.2')
  await turns.enter('user_2', '192.0.2.1')
  expect(inside).toEqual(['a0', 'b'])
  end(CHEAP, true)
  end(CHEAP, true)
  const ends = await Promise.all(entering.slice(1, 5))
  expect(inside).toEqual(['a0', 'b', 'a1', 'a2', 'a3', 'a4'])
  // One that came to no end says nothing.
  ends[0]?.(0, false)
  await entering[5]
})

test('one whose handshakes take long rests after each, and all such ones together', async () => {
  vi.useFakeTimers()
  try {
    const began = Date.now()
    const turns = newHandshakeTurns(() => Date.now())
    const times: Record<string, number[]> = {}
    const twice = async (address: string) => {
      for (let n = 0; n < 2; n++) {
        const end = await turns.enter('user_1', address)
        times[address] = [...(times[address] ?? []), Date.now() - began]
        end(COSTLY, true)
      }
    }
    const [one, other, third] = ['192.0.2.1', '192.0.2.2', '2001:db8:1:1::1']
    const all = Promise.all([twice(one), twice(other), twice(third)])
    await vi.advanceTimersByTimeAsync(3_000)
    expect(Object.values(times).flat().sort()).toEqual([0, 0, 0, 2_400])
    // Whoever was never costly waits for none of them.
    const cheap = await turns.enter('user_1', '192.0.2.4')
    cheap(CHEAP, true)
    await vi.advanceTimersByTimeAsync(1_500)
    await all
    expect(Object.values(times).flat().sort()).toEqual([0, 0, 0, 2_400, 3_200, 4_000])
    // Another subnet of the same network of IPv6 is the same receiver.
    const end = await turns.enter('user_1', '2001:db8:9:1::1')
    end(COSTLY, true)
    const begun = vi.fn()
    void turns.enter('user_1', '2001:db8:9:2::1').then(begun)
    await vi.advanceTimersByTimeAsync(1_500)
    expect(begun).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(100)
    expect(begun).toHaveBeenCalledOnce()
  } finally {
    vi.useRealTimers()
  }
})

test('whoever waits for more than five seconds is told so, as of any connection', async () => {
  vi.useFakeTimers()
  try {
    const turns = newHandshakeTurns(() => Date.now())
    const end = await turns.enter('user_1', '192.0.2.1')
    end(1_000, true)
    const refused = expect(turns.enter('user_1', '192.0.2.1')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
    await vi.advanceTimersByTimeAsync(5_000)
    await refused
    await vi.advanceTimersByTimeAsync(15_000)
    expect(typeof (await turns.enter('user_1', '192.0.2.1'))).toBe('function')
  } finally {
    vi.useRealTimers()
  }
})
