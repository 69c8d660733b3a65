// What many hold at the same time, such as bodies that are still arriving. A node has room for so much of it: of more, the
// place (an address, or a network of IPv6) that holds the most loses what it has held the longest.

export type PlaceBound<Held> = {
  add(held: Held, place: string, size?: number): void
  /** False when it was not, or is no longer, held. */
  delete(held: Held): boolean
}

type Holdings<Held> = { items: Set<Held>; size: number }

export function newPlaceBound<Held>(max: number, cutOff: (held: Held) => void): PlaceBound<Held> {
  const held = new Map<Held, { place: string; size: number }>()
  /** Of each place, the oldest first. */
  const byPlace = new Map<string, Holdings<Held>>()
  let total = 0

  function remove(item: Held): boolean {
    const found = held.get(item)
    if (!found) return false
    held.delete(item)
    total -= found.size
    const { items, size } = byPlace.get(found.place) as Holdings<Held>
    items.delete(item)
    if (items.size === 0) byPlace.delete(found.place)
    else byPlace.set(found.place, { items, size: size - found.size })
    return true
  }

  function cutOffOne(): void {
    let most: Holdings<Held> | null = null
    for (const holdings of byPlace.values()) if (holdings.size > (most?.size ?? 0)) most = holdings
    for (const oldest of most?.items ?? []) {
      remove(oldest)
      return cutOff(oldest)
    }
  }

  return {
    add(item, place, size = 1) {
      const { items, size: before } = byPlace.get(place) ?? { items: new Set<Held>(), size: 0 }
      held.set(item, { place, size })
      byPlace.set(place, { items: items.add(item), size: before + size })
      total += size
      while (total > max && held.size > 0) cutOffOne()
    },
    delete: remove,
  }
}
