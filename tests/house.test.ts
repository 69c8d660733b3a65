// Imports only go down. A file may import its own folder, the floors below, and, on the floors below the resources, its
// neighbours.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const FLOORS: [RegExp, number][] = [
  [/^(main|service|storage)\.ts$|^cli\//, 6],
  [/\/schema\.ts$/, 0],
  [/^http\//, 4],
  [/^routes\.ts$/, 3.5],
  // One list of a key's columns, for the cache below and the keys themselves.
  [/^keys\/columns\.ts$/, 1],
  // Among the resources: identity may import stores, and both may import the others.
  [/^identity\//, 3.4],
  [/^stores\//, 3.2],
  [/^(keys|billing|webhooks)\//, 3],
  [/^(auth|events|idempotency|limits)\//, 2],
  // A row of the route table says what its handler is given, a database among it.
  [/^core\/route\.ts$/, 1.5],
  [/^db\//, 1],
  [/^(core|schema|crypto)\/|^[a-z-]+\.ts$/, 0],
]

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((from) => ({ from, source: readFileSync(join('src', from), 'utf8') }))
const arrows = files
  .flatMap(({ from, source }) => importsOf(source).map((to) => ({ from, to })))
  .filter(({ to }) => to.startsWith('.') && to.endsWith('.ts'))
  .map(({ from, to }) => ({ from, to: normalize(join(dirname(from), to)) }))

/** What is imported or passed on when the code runs: `import type` is gone by then. */
function importsOf(source: string): string[] {
  const words = /^(?:import|export)\s+(?!type\b)(?:[^'"]*?\bfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm
  return [...source.matchAll(words)].map(([, from, called]) => (from ?? called) as string)
}

function floorOf(file: string): number {
  const floor = FLOORS.find(([place]) => place.test(file))
  if (!floor) throw new Error(`src/${file} stands on no floor of the house`)
  return floor[1]
}

function climbs({ from, to }: { from: string; to: string }): boolean {
  if (dirname(from) === dirname(to) && from.includes('/')) return false
  const [here, there] = [floorOf(from), floorOf(to)]
  return there > here
}

test('no import climbs', () => {
  expect(arrows.length).toBeGreaterThan(100)
  expect(arrows.filter(climbs)).toEqual([])
})

test('the framework is named on the http floor alone, the driver on the database floor alone', () => {
  // By name, types too.
  const naming = (what: RegExp) => files.filter(({ source }) => what.test(source)).map(({ from }) => from)
  expect(naming(/from '@?fastify\b/)).toEqual(['http/server.ts'])
  expect(naming(/from 'pg\b/).filter((file) => !file.startsWith('db/'))).toEqual([])
  expect(naming(/from 'pg\b/)).toContain('db/db.ts')
})

test('the test itself sees what climbs', () => {
  const source = `import { a } from '../http/json.ts'\nimport {\n  type B,\n} from '../keys/keys.ts'\nimport type { C } from '../db/db.ts'\nexport * from './d.ts'\nimport './e.ts'\nawait import('./f.ts')`
  expect(importsOf(source)).toEqual(['../http/json.ts', '../keys/keys.ts', './d.ts', './e.ts', './f.ts'])
  const climbing = [
    { from: 'keys/keys.ts', to: 'http/json.ts' },
    { from: 'keys/keys.ts', to: 'stores/stores.ts' },
    { from: 'auth/authenticate.ts', to: 'keys/keys.ts' },
    { from: 'keys/keys.ts', to: 'billing/read.ts' },
    { from: 'stores/stores.ts', to: 'identity/erase.ts' },
    { from: 'stores/schema.ts', to: 'db/db.ts' },
    { from: 'core/clock.ts', to: 'db/db.ts' },
    { from: 'http/pipeline.ts', to: 'service.ts' },
  ]
  expect(climbing.filter((arrow) => !climbs(arrow))).toEqual([])
  expect(climbs({ from: 'identity/identity.ts', to: 'stores/schema.ts' })).toBe(false)
  expect(climbs({ from: 'identity/erase.ts', to: 'stores/stores.ts' })).toBe(false)
  expect(climbs({ from: 'stores/members.ts', to: 'keys/revoke.ts' })).toBe(false)
  expect(climbs({ from: 'auth/authenticate.ts', to: 'events/write.ts' })).toBe(false)
})
