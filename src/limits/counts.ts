/** How many there are of each name. A name of which there are none takes no memory. */
export function newCounts() {
  const counts = new Map<string, number>()
  return {
    get: (name: string) => counts.get(name) ?? 0,
    add(name: string, change: 1 | -1) {
      const count = (counts.get(name) ?? 0) + change
      if (count === 0) counts.delete(name)
      else counts.set(name, count)
    },
  }
}
