import type { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newReadingTurns } from './reading-turns.ts'

test('connections that were answered or opened since are paused with the next refusals, and get their turn by ticks', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => {
    clock.mockRestore()
    vi.useRealTimers()
  })
  const paused = new Set<number>()
  const sockets = [0, 1, 2, 3, 4].map((n) => fakeSocket(n, paused))
  const [first, second] = sockets as [Socket, Socket]
  let idle = sockets
  const turns = newReadingTurns({
    load: { room: () => 0, completedPerSecond: () => 0 },
    connections: { takeIdle: () => idle },
    draining: () => false,
  })
  turns.wasRead(second, 'high')
  turns.wasRefused()
  expect([...paused]).toEqual([0, 2, 3, 4])
  // Those first that have waited the longest.
  idle = []
  for (let n = 0; n < 2; n++) {
    now += 20
    vi.advanceTimersByTime(20)
  }
  expect([...paused]).toEqual([3, 4])
  // The third keeps its turn: no request has come.
  turns.wasRead(first, 'normal')
  idle = sockets.slice(0, 3)
  for (let n = 0; n < 3; n++) turns.wasRefused()
  expect([...paused]).toEqual([3, 4, 0])
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
