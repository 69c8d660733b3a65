// Statements that many requests share are prepared once for each connection. One that is put together anew at each call would
// be parsed and planned each time, and no answer would show it.

import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { serviceClient } from '../../tests/service-client.ts'
import { NEW_ADDRESS, NEW_KEY, shop } from '../../tests/shop.ts'

test('every statement that takes many rows at once has a name, under which it stays prepared', async () => {
  const world = await shop({ alone: true })
  const { api, keys, billing, owner } = world
  const back = await serviceClient(world)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  const limited = { rateLimit: { limit: 9, windowSeconds: 60 } }
  const named = { rateLimits: [{ name: 'exports', limit: 9, windowSeconds: 60 }] }
  for (const more of [{}, limited, named, { credits: { remaining: 9 } }, { ...named, credits: { remaining: 9 } }]) {
    const { body } = await api.post(keys, { ...NEW_KEY, ...more }, { as: owner.token })
    expect(await back.codeOf(body.key)).toBe('VALID')
  }
  expect((await api.post(billing, NEW_ADDRESS, { as: owner.token })).status).toBe(201)
  const sent = query.mock.calls.map(([statement]) => statement as unknown as { text: string; name?: string })
  query.mockRestore()
  const batches = sent.filter(({ text }) => text?.includes('json_to_recordset'))
  const about = (table: string) => batches.filter(({ text }) => text.includes(table))
  for (const table of ['insert into api_keys', 'insert into addresses', 'key_credits', 'key_rate_windows'])
    expect(about(table).length, table).toBeGreaterThan(0)
  expect(batches.filter(({ name }) => name === undefined).map(({ text }) => text)).toEqual([])
})
