// The event loop is shared by all clients. Node.js reads everything that has arrived before it accepts a connection, and it
// accepts one at a time: a few hundred clients that ask again at once would keep everybody else waiting for seconds. So a
// turn of the loop begins a few requests, fewer if they take long, and those that are left wait for the next turns, one of each
// address after the other.

/** With twice as many, a new connection waits twice as long while others flood; with fewer, batches are smaller. */
const PER_TURN = 16
/** A turn that has taken so long begins no other. */
const MAX_TURN_MS = 5

export type FairQueue<Item> = {
  /** Begins the item now, or when it is its turn. */
  add(item: Item): void
  /** How many wait. */
  size(): number
  /** Takes out the newest item of the address with the most of them. Null when `place` has as many. */
  takeFromLongest(place: string): Item | null
}

export function newFairQueue<Item>(
  placeOf: (item: Item) => string,
  begin: (item: Item) => void,
  perTurn = PER_TURN,
): FairQueue<Item> {
  /** By address, the one whose turn it is first. None is empty. */
  const queues = new Map<string, Item[]>()
  let begunInTurn = 0
  /** When the first of a turn was begun. Null before it is. */
  let turnBeganAt: number | null = null
  let size = 0

  function takesTooLong(): boolean {
    turnBeganAt ??= performance.now()
    return performance.now() - turnBeganAt >= MAX_TURN_MS
  }

  /** Node.js runs what a request does at once between two of these, so each costs its own time only. */
  function endTurn(): void {
    begunInTurn = Math.min(perTurn, size)
    turnBeganAt = null
    for (let n = 0; n < begunInTurn; n++) setImmediate(beginNext)
    if (begunInTurn > 0) setImmediate(endTurn)
  }

  function beginNext(): void {
    if (takesTooLong()) return
    for (const [place, queue] of queues) {
      const item = queue.shift() as Item
      size -= 1
      // To the end, where its next one waits for those of the others.
      queues.delete(place)
      if (queue.length > 0) queues.set(place, queue)
      return begin(item)
    }
  }

  return {
    add(item) {
      if (begunInTurn === 0) setImmediate(endTurn)
      if (size === 0 && begunInTurn < perTurn && !takesTooLong()) {
        begunInTurn += 1
        return begin(item)
      }
      const place = placeOf(item)
      const queue = queues.get(place)
      if (queue) queue.push(item)
      else queues.set(place, [item])
      size += 1
    },
    size: () => size,
    takeFromLongest(own) {
      let place = own
      let longest = queues.get(own) ?? []
      for (const [other, queue] of queues) if (queue.length > longest.length) [place, longest] = [other, queue]
      if (place === own) return null
      size -= 1
      if (longest.length === 1) queues.delete(place)
      return longest.pop() as Item
    },
  }
}
