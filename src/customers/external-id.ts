// Where a customer is found.

export function customerPath(storeId: string, externalId: string): string {
  return `/v1/user/store/${storeId}/customers/${encodeURIComponent(externalId)}`
}
