import { expect, test } from 'vitest'
import { type ConfigError, connectionsOfWorker, readConfig } from './config.ts'

test.each([
  [{}, 12],
  [{ WORKERS: '2' }, 6],
  [{ WORKERS: '4' }, 6],
  [{ WORKERS: '16' }, 6],
  [{ WORKERS: '4', DATABASE_CONNECTIONS: '48' }, 12],
  [{ WORKERS: '3', DATABASE_CONNECTIONS: '20' }, 6],
])('with %j each worker has %i connections to the database', (env, connections) => {
  expect(connectionsOfWorker(readConfig(env))).toBe(connections)
})

test('fewer than six connections for each worker stop the start', () => {
  const refusal = (env: Record<string, string>) => {
    try {
      readConfig(env)
    } catch (error) {
      return (error as ConfigError).faults
    }
    return []
  }
  expect(refusal({ WORKERS: '4', DATABASE_CONNECTIONS: '23' })).toEqual([
    'DATABASE_CONNECTIONS is too low for WORKERS=4: each worker needs at least 6, so 24 in all',
  ])
  expect(refusal({ DATABASE_CONNECTIONS: '5' })[0]).toMatch(/^DATABASE_CONNECTIONS /)
})
