// A back end of the platform, which asks about keys with its service token.

import type { Api, Reply, Shop } from './shop.ts'

export type ServiceClient = {
  /** Its service token. */
  as: string
  verify(key: string, more?: object, at?: Api): Promise<Reply>
  /** The code of the verdict alone; of anything but a verdict its status and code. */
  codeOf(key: string, more?: object, at?: Api): Promise<string>
}

/** For the keys of the shop, unless other stores are named; null is all of them, and then it accepts any. */
export async function serviceClient(
  { api, serviceToken }: Pick<Shop, 'api' | 'serviceToken'>,
  storeIds?: string[] | null,
): Promise<ServiceClient> {
  const as = await serviceToken(storeIds)
  const verify: ServiceClient['verify'] = (key, more = {}, at = api) =>
    at.post('/v1/keys/verify', { key, ...(storeIds === null ? { anyStore: true } : {}), ...more }, { as })
  return {
    as,
    verify,
    codeOf: async (key, more, at) => {
      const { status, body } = await verify(key, more, at)
      return status === 200 ? body.code : `${status} ${body.code}`
    },
  }
}
