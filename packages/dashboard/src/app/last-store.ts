// The store that was opened last, in this browser: where "/" leads, and first in the switcher.

import { paths } from './paths.ts'

const NAME = 'storekeeper.stores'
const MAX_REMEMBERED = 20

export function recentStores(): string[] {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? '[]') as string[]
  } catch {
    return []
  }
}

export function rememberStore(storeId: string): void {
  const recent = [storeId, ...recentStores().filter((id) => id !== storeId)]
  localStorage.setItem(NAME, JSON.stringify(recent.slice(0, MAX_REMEMBERED)))
}

export function lastStore(): string | null {
  const [storeId] = recentStores()
  return storeId ? paths.overview(storeId) : null
}

export function forgetStores(): void {
  localStorage.removeItem(NAME)
}
