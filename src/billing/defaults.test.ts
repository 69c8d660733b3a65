import { expect, test } from 'vitest'
import { shop } from '../../tests/shop.ts'
import { storm } from '../../tests/storm.ts'

test('creates, changes and deletes by many at once on two nodes: one default each at every moment', async () => {
  const { api, owner, member, node, billing, databaseUrl } = await shop()
  const users = [owner]
  for (let n = 1; n < 8; n++) users.push(await member('CUSTOMER'))
  const { answers, snapshots, wrong } = await storm({
    requests: 1_500,
    atOnce: 16,
    urls: [api.url, (await node()).url],
    databaseUrl,
    billing,
    tokens: users.map(({ token }) => token),
  })
  expect(wrong).toEqual([])
  expect(snapshots).toBeGreaterThan(20)
  expect(
    Object.keys(answers)
      .filter((answer) => !/ 404$/.test(answer))
      .sort(),
  ).toEqual(['DELETE 204', 'PATCH 200', 'POST 201'])
  for (const often of ['DELETE 204', 'PATCH 200', 'POST 201']) expect(answers[often]).toBeGreaterThan(150)
}, 120_000)
