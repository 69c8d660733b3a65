// Of the requests that a node has begun, a tenant may have twice as many as there is room left for: two thirds of all while it
// alone has many, and the fewer, the more tenants have many. So some room is always left for others, whatever the requests wait
// for: a password, the lock of a store, a slow name server. (Buffers of network switches are shared out like this: dynamic
// thresholds.) Requests that still wait to be begun do not count: these are shared out by address (http/admission.ts).

const SHARE_OF_REST = 2
/** A tenant with so few is not refused: its request was admitted, so there is room. */
const FEW = 10

export type TenantShares = {
  /** Null when the tenant has its share, else the function that ends the request. */
  enter(tenant: string): (() => void) | null
}

/** `limit`: how many requests may be in flight now. */
export function newTenantShares(limit: () => number): TenantShares {
  const begun = new Map<string, number>()
  let all = 0
  return {
    enter(tenant) {
      const own = begun.get(tenant) ?? 0
      if (own >= FEW && own >= SHARE_OF_REST * (limit() - all)) return null
      begun.set(tenant, own + 1)
      all += 1
      return () => {
        all -= 1
        const left = (begun.get(tenant) ?? 0) - 1
        if (left > 0) begun.set(tenant, left)
        else begun.delete(tenant)
      }
    },
  }
}
