import { expect, test, vi } from 'vitest'
import { newThreadShares } from './thread-shares.ts'

const CHEAP = 5
const COSTLY = 80

test('the handshakes with a receiver come one at a time until one has cost little, then four; others wait neither for it nor for its account', async () => {
  const shares = newThreadShares()
  const inside: string[] = []
  const enter = async (name: string, address: string) => {
    const end = await shares.enter('user_1', address)
    inside.push(name)
    return end
  }
  const entering = Array.from({ length: 6 }, (_, n) => enter(`a${n}`, '192.0.2.1'))
  const end = await (entering[0] as (typeof entering)[number])
  await enter('b', '192.0.2.2')
  await shares.enter('user_2', '192.0.2.1')
  expect(inside).toEqual(['a0', 'b'])
  end(CHEAP, true)
  end(CHEAP, true)
  const ends = await Promise.all(entering.slice(1, 5))
  expect(inside).toEqual(['a0', 'b', 'a1', 'a2', 'a3', 'a4'])
  ends[0]?.(0, false)
  await entering[5]
})

test('an account has a quarter of the time after a burst, a twentieth where its receivers take long, and nobody else waits for it', async () => {
  vi.useFakeTimers()
  try {
    const began = Date.now()
    const shares = newThreadShares(() => Date.now())
    const times: number[] = []
    const enter = async (address: string, cost: number) => {
      const end = await shares.enter('user_1', address)
      times.push(Date.now() - began)
      shares.spend('user_1', cost)
      end(cost, true)
    }
    for (let n = 0; n < 2; n++) await enter('192.0.2.1', COSTLY)
    expect(shares.restMs('user_1')).toBe(1_200)
    const others = ['192.0.2.1', '192.0.2.2', '2001:db8:1:1::1'].map((address) => enter(address, COSTLY))
    const neighbour = await shares.enter('user_2', '192.0.2.1')
    neighbour(CHEAP, true)
    await vi.advanceTimersByTimeAsync(4_999)
    await Promise.all(others)
    expect(times).toEqual([0, 0, 1_200, 2_800, 4_400])
    // Many cheap ones count, too.
    const cheap = Array.from({ length: 150 }, () => enter('192.0.2.1', CHEAP))
    await vi.advanceTimersByTimeAsync(4_999)
    await Promise.all(cheap)
    expect(times).toHaveLength(155)
    // One every 20 ms, or up to four together.
    expect(times.at(-1)).toBeGreaterThanOrEqual(6_000 + 20 * (149 - 3))
  } finally {
    vi.useRealTimers()
  }
})

test('all accounts together have half of the time, however many they are', async () => {
  vi.useFakeTimers()
  try {
    const shares = newThreadShares(() => Date.now())
    const worked: Record<string, number> = {}
    const work = (account: string) => {
      if (shares.restMs(account) > 0) return
      shares.spend(account, 1)
      worked[account] = (worked[account] ?? 0) + 1
    }
    const names = Array.from({ length: 10 }, (_, n) => `user_${n}`)
    // What they may do at first is over by then.
    for (let ms = 0; ms < 40_000; ms++) {
      if (ms === 20_000) for (const name of names) worked[name] = 0
      // Each in its turn, of a thread that has a millisecond for one of them.
      work(names[ms % names.length] as string)
      await vi.advanceTimersByTimeAsync(1)
    }
    const each = names.map((name) => (worked[name] as number) / 20_000)
    expect(each.reduce((sum, share) => sum + share, 0)).toBeLessThan(0.55)
    expect(Math.min(...each)).toBeGreaterThan(0.03)
  } finally {
    vi.useRealTimers()
  }
})

test('after twenty milliseconds, whoever it was for, the rest waits for the next turn of the event loop', async () => {
  const shares = newThreadShares()
  shares.spend('user_1', 10)
  expect(shares.restMs('user_2')).toBe(0)
  shares.spend('user_1', 10)
  expect(shares.restMs('user_2')).toBe(1)
  await new Promise(setImmediate)
  expect(shares.restMs('user_2')).toBe(0)
})

test('a rest is shorter than a connection waits, whatever has taken long', () => {
  const shares = newThreadShares(() => 0)
  shares.spend('user_1', 10_000)
  expect(shares.restMs('user_1')).toBe(4_000)
})

test('whoever waits for more than five seconds is told so, as of any connection', async () => {
  vi.useFakeTimers()
  try {
    const shares = newThreadShares(() => Date.now())
    const end = await shares.enter('user_1', '192.0.2.1')
    const refused = expect(shares.enter('user_1', '192.0.2.1')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
    await vi.advanceTimersByTimeAsync(5_000)
    await refused
    end(CHEAP, true)
    expect(typeof (await shares.enter('user_1', '192.0.2.1'))).toBe('function')
  } finally {
    vi.useRealTimers()
  }
})
