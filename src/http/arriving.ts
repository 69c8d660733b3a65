// Requests whose body is still arriving. A sender may take its time, but a node keeps only so many: of more, the address that
// has the most of them loses the connection of the one that has taken the longest.

import type { IncomingMessage } from 'node:http'

export type ArrivingBodies = {
  add(request: IncomingMessage): void
  /** False when it was not, or is no longer, among them. */
  delete(request: IncomingMessage): boolean
}

export function newArrivingBodies(max: number, placeOf: (request: IncomingMessage) => string): ArrivingBodies {
  const placeByRequest = new Map<IncomingMessage, string>()
  /** Of each place, the oldest first. */
  const byPlace = new Map<string, Set<IncomingMessage>>()

  function remove(request: IncomingMessage): boolean {
    const place = placeByRequest.get(request)
    if (place === undefined) return false
    placeByRequest.delete(request)
    const others = byPlace.get(place)
    if (others?.delete(request) && others.size === 0) byPlace.delete(place)
    return true
  }

  function cutOffOne(): void {
    let most = new Set<IncomingMessage>()
    for (const requests of byPlace.values()) if (requests.size > most.size) most = requests
    const [oldest] = most
    if (oldest && remove(oldest)) oldest.socket.destroy()
  }

  return {
    add(request) {
      const place = placeOf(request)
      placeByRequest.set(request, place)
      const others = byPlace.get(place)
      if (others) others.add(request)
      else byPlace.set(place, new Set([request]))
      if (placeByRequest.size > max) cutOffOne()
    },
    delete: remove,
  }
}
