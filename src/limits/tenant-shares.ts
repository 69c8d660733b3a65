// Of the requests that a node has begun, a tenant may have twice as many as there is room left for: two thirds of all while it
// alone has many, and the fewer, the more tenants have many. So some room is always left for others, whatever the requests wait
// for: a password, the lock of a store, a slow name server. (Buffers of network switches are shared out like this: dynamic
// thresholds.) Requests that still wait to be begun do not count: these are shared out by address (http/admission.ts).

import { newCounts } from './counts.ts'

const SHARE_OF_REST = 2
/** An account with so few is not refused: its request was admitted, so there is room. */
const FEW = 10

export type TenantShares = {
  /**
   * Null when the tenant has its share, else the function that ends the request. A tenant may be several accounts, such as
   * somebody and the keys of their stores: people are not refused for what their keys have under way.
   */
  enter(tenant: string, account: string): (() => void) | null
}

/** `limit`: how many requests may be in flight now. */
export function newTenantShares(limit: () => number): TenantShares {
  const [ofTenant, ofAccount] = [newCounts(), newCounts()]
  let all = 0
  const count = (tenant: string, account: string, change: 1 | -1) => {
    ofTenant.add(tenant, change)
    ofAccount.add(account, change)
    all += change
  }
  return {
    enter(tenant, account) {
      if (ofAccount.get(account) >= FEW && ofTenant.get(tenant) >= SHARE_OF_REST * (limit() - all)) return null
      count(tenant, account, 1)
      return () => count(tenant, account, -1)
    },
  }
}
