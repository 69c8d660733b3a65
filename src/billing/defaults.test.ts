import { expect, test } from 'vitest'
import { STRENGTH } from '../../bench/stress/strength.ts'
import { storm } from '../../tests/address-storm.ts'
import { shop } from '../../tests/shop.ts'

test('creates, changes and deletes by many at once on two nodes: one default each at every moment', async () => {
  const { api, owner, member, node, billing, databaseUrl } = await shop({ alone: true })
  const users = [owner]
  for (let n = 1; n < 8; n++) users.push(await member('CUSTOMER'))
  const { seed, answers, snapshots, wrong } = await storm({
    requests: STRENGTH.addressRequests,
    atOnce: 16,
    urls: [api.url, (await node()).url],
    databaseUrl,
    billing,
    tokens: users.map(({ token }) => token),
  })
  expect({ seed, wrong }).toEqual({ seed, wrong: [] })
  expect(snapshots).toBeGreaterThan(5)
  expect(
    Object.keys(answers)
      .filter((answer) => !/ 404$/.test(answer))
      .sort(),
  ).toEqual(['DELETE 204', 'PATCH 200', 'POST 201'])
  for (const often of ['DELETE 204', 'PATCH 200', 'POST 201'])
    expect(answers[often]).toBeGreaterThan(STRENGTH.addressRequests / 10)
})
