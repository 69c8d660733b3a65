// The stores that were opened in this browser, the last one first: where "/" leads, and the order of the switcher.

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

export function forgetStores(): void {
  localStorage.removeItem(NAME)
}
