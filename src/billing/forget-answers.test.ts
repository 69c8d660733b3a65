// A retry shows nothing of an address whose user is erased: the answers that were kept for it are gone with the text.

import { expect, test } from 'vitest'
import { NEW_ADDRESS, NEW_KEY, shop } from '../../tests/shop.ts'
import { fromNow, HOUR, travel } from '../core/clock.ts'
import { isChange } from '../core/route.ts'
import { routes } from '../routes.ts'
import { endHolds } from './holds.ts'

test('no retry shows an address of somebody who is erased, to a key or a member', async () => {
  const { api, store, keys, owner, billing, member, service } = await shop({ alone: true })
  // Every route whose answer shows an address and is kept for retries.
  const kept = routes.filter((row) => row.method === 'POST' && isChange(row))
  expect(kept.filter(({ returns }) => JSON.stringify(returns[1])?.includes('"addressLine1"')).map(({ id }) => id)) //
    .toEqual(['addresses.create', 'invoicing.hold', 'customers.addresses.create'])

  const at = `/v1/user/store/${store.id}`
  const as = { as: owner.token }
  const permissions = ['READ', 'MANAGE_ORDERS', 'MANAGE_CUSTOMERS']
  const by = { as: (await api.post(keys, { ...NEW_KEY, permissions }, as)).body.key as string }
  let n = 0
  /** Sends it once; gives what a retry is answered. */
  const once = async (caller: typeof as, path: string, body: object) => {
    const retry = { ...caller, headers: { 'idempotency-key': `once-${n++}` } }
    const first = await api.post(path, body, retry)
    expect(first.text).toContain('Infinite Loop')
    const again = () => api.post(path, body, retry)
    expect((await again()).headers.get('idempotent-replayed')).toBe('true')
    return { id: first.body.id as string, again }
  }
  const until = fromNow(HOUR).toISOString()
  /** By the key and by the owner, for the user: an address, then a hold of it. */
  const fill = async (externalId: string) => {
    const path = `${at}/customers/${externalId}/billing`
    const made = [await once(by, path, NEW_ADDRESS), await once(as, path, NEW_ADDRESS)]
    const [one, two] = made.map(({ id }) => `${at}/billing/${id}/versions/1/hold`) as [string, string]
    const held = [
      await once(by, one, { reason: 'Invoice', until }),
      await once(as, one, { reason: 'Invoice', until }),
      await once(as, two, { reason: 'Invoice', until }),
    ]
    return { made, one, held }
  }
  const shown = async (answers: { again: () => Promise<{ text: string; status: number }> }[]) => {
    const replies = await Promise.all(answers.map(({ again }) => again()))
    return replies.map(({ status, text }) => [status, text.includes('Infinite Loop')])
  }

  const ada = await member('CUSTOMER')
  await once({ as: ada.token }, billing, NEW_ADDRESS)
  await api.put(`${at}/customers/linked`, { userId: ada.id }, as)
  await api.put(`${at}/customers/kept`, {}, as)
  const worlds = [await fill('linked'), await fill('kept')]
  expect((await api.delete('/v1/user', { as: ada.token })).status).toBe(200)
  expect((await api.delete(`${at}/customers/kept`, as)).status).toBe(200)
  for (const { made, one, held } of worlds) {
    expect(await shown(made)).toEqual(Array(2).fill([404, false]))
    // What is on hold is readable, and its answer with it, until the hold is released.
    expect(await shown(held)).toEqual(Array(3).fill([200, true]))
    expect((await api.delete(one, as)).status).toBe(204)
    expect(await shown(held.slice(0, 2))).toEqual(Array(2).fill([409, false]))
  }
  // The others end by themselves.
  travel(HOUR - 60_000)
  const last = worlds.map(({ held }) => held[2] as (typeof held)[number])
  expect((await shown(last)).map(([, text]) => text)).toEqual([true, true])
  travel(HOUR + 1_000)
  await endHolds(service.db)
  expect((await shown(last)).map(([, text]) => text)).toEqual([false, false])
  travel(0)
})
