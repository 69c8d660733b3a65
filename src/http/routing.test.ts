import { expect, test } from 'vitest'
import { leastCpuTime } from '../../tests/cpu-time.ts'
import { newNotFoundOr405 } from './routing.ts'

const ENDPOINTS = Array.from({ length: 150 }, (_, n) => ({
  method: 'GET',
  path: `/v1/user/store/:storeId/things/${n}`,
}))

test('a path has the methods of the pattern with the fewest parameters; one with more parts than any is not found', () => {
  const refuse = newNotFoundOr405([
    { method: 'GET', path: '/keys/:keyId' },
    { method: 'PATCH', path: '/keys/:keyId' },
    { method: 'GET', path: '/keys/grantable' },
  ])
  expect(refuse('/keys/grantable').details.allow).toEqual(['GET', 'HEAD'])
  expect(refuse('/keys/key_1').details.allow).toEqual(['GET', 'HEAD', 'PATCH'])
  for (const path of ['/keys/', '/keys', '/keys/key_1/', '/keys/key_1/x', '/'.repeat(9)])
    expect([path, refuse(path).code]).toEqual([path, 'not_found'])
})

test('a path of slashes costs no more than any other of its length', () => {
  const refuse = newNotFoundOr405(ENDPOINTS)
  const timeOf = (path: string) =>
    leastCpuTime(20, () => {
      for (let n = 0; n < 10; n++) refuse(path)
    })
  timeOf('/')
  expect(timeOf('/'.repeat(15_000))).toBeLessThan(20 * Math.max(50, timeOf('x'.repeat(15_000))))
})
