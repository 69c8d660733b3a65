// Imports only go down, types included, and never in a circle. The floors, from the ground up:
//
//   0  core, schema, crypto; config.ts and instance.ts; every schema.ts, and the generated types of the tables
//   1  db; just above it core/route.ts, the form of a route, and keys/columns.ts, the columns of a key
//   2  limits, idempotency, events, auth, mail, backup
//   3  the resources, in an order of their own: identity → stores → customers → keys → billing, webhooks, service-tokens
//   4  http; routes.ts, the list of all routes, lies between it and the resources
//   5  the wiring (main, service, background, maintenance, measurable, prepare-database, storage), the
//      cluster and the commands

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const FLOORS: [RegExp, number][] = [
  [/^(main|service|background|maintenance|measurable|prepare-database|storage)\.ts$|^(cli|cluster)\//, 5],
  [/\/schema\.ts$/, 0],
  [/^core\/route\.ts$|\/columns\.ts$/, 1.5],
  [/^http\//, 4],
  [/^routes\.ts$/, 3.9],
  [/^identity\//, 3.2],
  [/^stores\//, 3.1],
  [/^customers\//, 3.05],
  [/^keys\//, 3.02],
  [/^(billing|webhooks|service-tokens|settings)\//, 3],
  [/^(auth|backup|events|idempotency|limits|mail)\//, 2],
  [/^db\/tables\.gen\.ts$/, 0],
  [/^db\//, 1],
  [/^(core|schema|crypto)\/|^(config|instance)\.ts$/, 0],
]

type Arrow = { from: string; to: string }

/** The source files below a folder, tests left out, and what they import of their own folder. */
function filesBelow(folder: string): { from: string; source: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
    .map((from) => ({ from, source: readFileSync(join(folder, from), 'utf8') }))
}
const arrowsAmong = (sources: { from: string; source: string }[]): Arrow[] =>
  sources.flatMap(({ from, source }) =>
    importsOf(source)
      .filter((to) => /^\..*\.tsx?$/.test(to))
      .map((to) => ({ from, to: normalize(join(dirname(from), to)) })),
  )

const files = filesBelow('src')
const arrows = arrowsAmong(files)

/** Everything a file names, `import type` included. */
function importsOf(source: string): string[] {
  const imports = /^(?:import|export)\s+(?:[^'"]*?\bfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm
  return [...source.matchAll(imports)].map(([, named, called]) => (named ?? called) as string)
}

function floorOf(file: string): number {
  const floor = FLOORS.find(([place]) => place.test(file))
  if (!floor) throw new Error(`src/${file} stands on no floor`)
  return floor[1]
}

const folderOf = (file: string) => (file.includes('/') ? (file.split('/')[0] as string) : file)

function climbs({ from, to }: Arrow): boolean {
  if (folderOf(from) === folderOf(to)) return false
  const [low, high] = [floorOf(to), floorOf(from)]
  return low > high || (low === high && low >= 3 && low < 4)
}

/** A circle among files, as the path that leads around it, or null. */
function findCircle(graph: Arrow[]): string[] | null {
  const next = new Map<string, string[]>()
  for (const { from, to } of graph) next.set(from, [...(next.get(from) ?? []), to])
  const done = new Set<string>()
  const visit = (file: string, path: string[]): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return null
    for (const to of next.get(file) ?? []) {
      const circle = visit(to, [...path, file])
      if (circle) return circle
    }
    done.add(file)
    return null
  }
  for (const file of next.keys()) {
    const circle = visit(file, [])
    if (circle) return circle
  }
  return null
}

test('no import climbs, types included', () => {
  expect(arrows.length).toBeGreaterThan(400)
  expect(arrows.filter(climbs)).toEqual([])
})

test('no files import one another in a circle, types included', () => {
  expect(findCircle(arrows)).toBeNull()
  for (const name of readdirSync('packages')) {
    const within = arrowsAmong(filesBelow(join('packages', name, 'src')))
    expect(within.length, name).toBeGreaterThan(20)
    expect(findCircle(within), name).toBeNull()
  }
})

test('the framework is named in http/server.ts alone, the driver in db alone', () => {
  const naming = (what: RegExp) => files.filter(({ source }) => what.test(source)).map(({ from }) => from)
  // @fastify/proxy-addr reads requests of Node.js, and needs no framework.
  expect(naming(/from '(fastify|@fastify\/(?!proxy-addr'))/)).toEqual(['http/server.ts'])
  expect(naming(/from 'pg\b/).filter((file) => !file.startsWith('db/'))).toEqual([])
  expect(naming(/from 'pg\b/)).toContain('db/pool.ts')
})

test('the test itself sees what climbs, and what goes in a circle', () => {
  const source = `import { a } from '../http/json.ts'\nimport {\n  type B,\n} from '../keys/create.ts'\nimport type { C } from '../db/db.ts'\nexport * from './d.ts'\nimport './e.ts'\nawait import('./f.ts')`
  expect(importsOf(source)).toEqual([
    '../http/json.ts',
    '../keys/create.ts',
    '../db/db.ts',
    './d.ts',
    './e.ts',
    './f.ts',
  ])
  const climbing = [
    { from: 'keys/create.ts', to: 'http/json.ts' },
    { from: 'keys/create.ts', to: 'stores/stores.ts' },
    { from: 'stores/stores.ts', to: 'identity/accounts.ts' },
    { from: 'billing/create.ts', to: 'keys/create.ts' },
    { from: 'auth/authenticate.ts', to: 'keys/create.ts' },
    { from: 'stores/schema.ts', to: 'db/db.ts' },
    { from: 'core/clock.ts', to: 'db/db.ts' },
    { from: 'http/pipeline.ts', to: 'service.ts' },
  ]
  expect(climbing.filter((arrow) => !climbs(arrow))).toEqual([])
  const falling = [
    { from: 'identity/erase.ts', to: 'stores/invitations.ts' },
    { from: 'stores/members.ts', to: 'keys/revoke.ts' },
    { from: 'keys/revoke.ts', to: 'webhooks/webhooks.ts' },
    { from: 'keys/create.ts', to: 'stores/schema.ts' },
    { from: 'auth/authenticate.ts', to: 'events/write.ts' },
  ]
  expect(falling.filter(climbs)).toEqual([])
  const [ab, bc, ca] = ['ab', 'bc', 'ca'].map((way) => ({ from: way.charAt(0), to: way.charAt(1) })) as Arrow[]
  expect(findCircle([ab, bc] as Arrow[])).toBeNull()
  expect(findCircle([ab, bc, ca] as Arrow[])).toEqual(['a', 'b', 'c', 'a'])
})
