import { expect, test, vi } from 'vitest'
import type { WireResponse } from '../core/route.ts'
import { newConnectionSlots } from './connection-slots.ts'
import type { Call, Pipeline } from './context.ts'
import { inReadSlot, newLargeReads } from './read-slots.ts'

const CONNECTIONS = 8

/** Reads that each run until they are let go. */
function stand() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  let shortestMs = 0
  const shortest = async () => {
    vi.advanceTimersByTime(shortestMs)
    return []
  }
  const pipeline = {
    limits: { slots: newConnectionSlots(CONNECTIONS), largeReads: newLargeReads() },
    db: { lookUps: { query: shortest } },
  } as unknown as Pipeline
  const running: { ip: string; letGo: () => void }[] = []
  const all: Promise<unknown>[] = []
  return {
    running: () => running.map(({ ip }) => ip),
    /** How long the shortest statement takes. */
    slowDown(ms: number) {
      shortestMs = ms
    },
    async begin(...ips: string[]) {
      for (const ip of ips) {
        const call = {
          route: { method: 'GET', id: 'slow' },
          caller: null,
          incoming: { ip },
          account: ip,
        } as unknown as Call
        const read = async () => {
          await new Promise<void>((letGo) => running.push({ ip, letGo }))
          return { body: '' } as unknown as WireResponse
        }
        all.push(inReadSlot(pipeline, call, read))
      }
      await settled()
    },
    async letGoOfAll() {
      while (running.length > 0) {
        running.shift()?.letGo()
        await settled()
      }
      await Promise.all(all.splice(0))
    },
  }
}
const settled = () => new Promise(setImmediate)
const [ADA, BOB, CARL] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'] as const

test('a read that has run for a second counts as slow while it runs: of others like it one at a time is begun', async () => {
  const { running, begin, letGoOfAll } = stand()
  await begin(ADA)
  vi.advanceTimersByTime(1_000)
  await settled()
  await begin(ADA, ADA, ADA)
  expect(running()).toEqual([ADA, ADA])
  await begin(BOB, CARL)
  expect(running()).toEqual([ADA, ADA, BOB, CARL])
  await letGoOfAll()
})

test('slow reads that come again are remembered for two minutes, and a single one for ten seconds', async () => {
  const { running, begin, letGoOfAll } = stand()
  const slowRead = async (...ips: string[]) => {
    await begin(...ips)
    vi.advanceTimersByTime(1_000)
    await settled()
    vi.advanceTimersByTime(500)
    await letGoOfAll()
  }
  await slowRead(ADA)
  vi.advanceTimersByTime(10_000)
  await begin(ADA, ADA)
  expect(running()).toEqual([ADA, ADA])
  await letGoOfAll()
  await slowRead(ADA)
  vi.advanceTimersByTime(110_000)
  await begin(ADA, ADA)
  expect(running()).toEqual([ADA])
  await letGoOfAll()
  vi.advanceTimersByTime(20_000)
  await begin(ADA, ADA)
  expect(running()).toEqual([ADA, ADA])
  await letGoOfAll()
})

test('where everything is slow, no read counts as slow', async () => {
  const { running, begin, slowDown, letGoOfAll } = stand()
  slowDown(100)
  await begin(ADA)
  vi.advanceTimersByTime(1_000)
  await settled()
  await begin(ADA, ADA, ADA)
  expect(running()).toEqual([ADA, ADA, ADA, ADA])
  await letGoOfAll()
})
