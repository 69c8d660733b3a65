import { expect, test, vi } from 'vitest'
import { newHandshakeTurns } from './handshake-turns.ts'

const CHEAP = 5
const COSTLY = 80

test('the handshakes with a receiver come one at a time until one has cost little, then four; others wait neither for it nor for its account', async () => {
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
  ends[0]?.(0, false)
  await entering[5]
})

test('after one that took long the account rests, but with receivers that took little, and nobody else does', async () => {
  vi.useFakeTimers()
  try {
    const began = Date.now()
    const turns = newHandshakeTurns(() => Date.now())
    const times: number[] = []
    const enter = async (address: string, cost: number) => {
      const end = await turns.enter('user_1', address)
      times.push(Date.now() - began)
      end(cost, true)
    }
    await enter('192.0.2.9', CHEAP)
    await enter('192.0.2.1', COSTLY)
    const others = ['192.0.2.1', '192.0.2.2', '2001:db8:1:1::1'].map((address) => enter(address, COSTLY))
    await enter('192.0.2.9', CHEAP)
    const neighbour = await turns.enter('user_2', '192.0.2.1')
    neighbour(CHEAP, true)
    expect(times).toEqual([0, 0, 0])
    await vi.advanceTimersByTimeAsync(4_999)
    await Promise.all(others)
    // 20 times 80 ms.
    expect(times).toEqual([0, 0, 0, 1_600, 3_200, 4_800])
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
