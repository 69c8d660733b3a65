import type { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newReadingTurns } from './reading-turns.ts'

test('in a crowd all idle connections are looked at once, and then those that were answered since', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const paused = new Set<number>()
  const sockets = Array.from({ length: 1_000 }, (_, n) => fakeSocket(n, paused))
  const [first, second] = sockets as [Socket, Socket]
  let looked = 0
  const idle = function* () {
    for (const socket of sockets) {
      looked += 1
      yield socket
    }
  }
  const turns = newReadingTurns({
    load: { room: () => 0, completedPerSecond: () => 0 },
    connections: { idle },
    draining: () => false,
  })
  expect(turns.wasRead(second, 'high')).toBe(true)
  turns.wasRefused()
  expect([looked, paused.size, paused.has(1)]).toEqual([1_000, 999, false])

  // Each tick gives those their turn that have waited the longest: the first and the third.
  vi.advanceTimersByTime(40)
  expect([paused.size, paused.has(0), paused.has(2)]).toEqual([997, false, false])
  expect(turns.wasRead(first, 'normal')).toBe(true)
  turns.wasAnswered(first)
  for (let n = 0; n < 100; n++) turns.wasRefused()
  // The third still has its turn: no request has come.
  expect([looked, paused.size, paused.has(0), paused.has(2)]).toEqual([1_000, 998, true, false])
})

function fakeSocket(n: number, paused: Set<number>): Socket {
  const socket = {
    pause() {
      paused.add(n)
      return socket
    },
    resume() {
      paused.delete(n)
      return socket
    },
  }
  // Of a socket nothing else is used here.
  return socket as unknown as Socket
}
