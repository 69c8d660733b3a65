// What the keys pages know of keys: which tab one stands in, and how it is found.

import type { Key } from '@storekeeper/client'
import { useRead } from '../../app/api.ts'
import { sk } from '../../app/client.ts'
import { earlyKeys } from '../../app/early.ts'
import { gather, type Interval, localDays, startOfLocalDay } from '../../components/usage.ts'
import { readLiveKeys } from './live-keys.ts'

const DAY = 86_400_000
const UNUSED_MS = 30 * DAY
const ENDS_SOON_MS = 30 * DAY
/** The days of a row's bars. */
const BAR_DAYS = 14
export const TABS = ['live', 'never', 'unused', 'ending', 'rotating', 'off', 'ended'] as const
export type Tab = (typeof TABS)[number]

const IN_TAB: Record<Tab, (key: Key, now: number) => boolean> = {
  live: isLive,
  never: (key) => isLive(key) && key.lastUsedAt === null,
  unused: (key, now) => isLive(key) && key.lastUsedAt !== null && now - new Date(key.lastUsedAt).getTime() > UNUSED_MS,
  ending: (key, now) => isLive(key) && key.expiresAt !== null && new Date(key.expiresAt).getTime() - now < ENDS_SOON_MS,
  rotating: (key) => isLive(key) && key.rotation !== null,
  off: (key) => key.status === 'DISABLED',
  ended: (key) => key.status === 'REVOKED' || key.status === 'EXPIRED',
}

function isLive({ status }: Key): boolean {
  return status === 'ACTIVE' || status === 'DISABLED'
}

export function inTab(keys: readonly Key[], tab: Tab, now = Date.now()): Key[] {
  return keys.filter((key) => IN_TAB[tab](key, now))
}

/** By name, start, permission, type, owner and description. */
export function search(keys: readonly Key[], text: string): Key[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return [...keys]
  return keys.filter((key) => {
    const { description } = key.metadata
    const searched = [key.name, key.start, key.type, key.owner, ...key.permissions, String(description ?? '')]
      .join(' ')
      .toLowerCase()
    return words.every((word) => searched.includes(word))
  })
}

/** Those that work or can be made to work again; ended ones are read apart, by the page. */
export function useLiveKeys(storeId: string, enabled = true) {
  return useRead(['keys', storeId, 'live'], (options) => earlyKeys(storeId) ?? readLiveKeys(storeId, options), {
    enabled,
  })
}

export function useEndedKeys(storeId: string, enabled: boolean) {
  return useRead(
    ['keys', storeId, 'ended'],
    async (options) => {
      const keys = sk.store(storeId).keys
      const [revoked, expired] = await Promise.all(
        (['REVOKED', 'EXPIRED'] as const).map((status) => keys.list({ status }, options).toArray({ max: 100 })),
      )
      return [...(revoked ?? []), ...(expired ?? [])].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
    },
    { enabled },
  )
}

/** The bars of every row, in one read: the last two weeks by the reader's own days. */
export function useBars(storeId: string) {
  return useRead(['usage', storeId, 'bars'], async (options) => {
    const to = new Date()
    const from = startOfLocalDay(to, 1 - BAR_DAYS)
    const query = { from: from.toISOString(), to: to.toISOString(), interval: 'hour' as const }
    const days = localDays(from, to)
    const bars = new Map<string, Interval[]>()
    for await (const { keyId, data } of sk.store(storeId).keys.storeUsage(query, options))
      bars.set(keyId, gather(data, days))
    return { bars, empty: gather([], days) }
  })
}
