// The service and the packages: src/ never imports packages/, and packages/ import of src/ only files that need neither
// the database nor the server. Those are compiled into the package that imports them.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { readKeyPrefix, readServiceUrl } from '../packages/cli/src/config.ts'
import { readConfig } from '../src/config.ts'

/** Files of src/ that a package may import: they import nothing but Node, commander and one another. */
const PURE = [
  'src/core/key-types.ts',
  'src/crypto/random.ts',
  'src/crypto/secret.ts',
  'src/crypto/tokens.ts',
  'src/cli/interrupt.ts',
  'src/cli/io.ts',
  'src/cli/program.ts',
]

/** Every relative import of a file, `import type` and `import()` too, from the root of the repository. */
function importsOf(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  const names = [...source.matchAll(/(?:\bfrom|^import|\bimport\()\s*['"]([^'"]+)['"]/gm)].map(
    ([, name]) => name as string,
  )
  return names.map((name) => (name.startsWith('.') ? normalize(join(dirname(file), name)) : name))
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => join(folder, file))
}

test('src imports nothing of packages, and packages of src only what is pure', () => {
  const imports = (folder: string) => filesBelow(folder).flatMap((from) => importsOf(from).map((to) => ({ from, to })))
  expect(imports('src').filter(({ to }) => /^packages\/|^@storekeeper\//.test(to))).toEqual([])
  const ofSrc = imports('packages').filter(({ to }) => to.startsWith('src/'))
  expect(ofSrc.filter(({ to }) => !PURE.includes(to))).toEqual([])
  expect(ofSrc).toContainEqual({ from: 'packages/cli/src/scan/search.ts', to: 'src/crypto/tokens.ts' })
  const ofPure = PURE.flatMap((from) => importsOf(from).map((to) => ({ from, to })))
  expect(ofPure.filter(({ to }) => !/^node:|^commander$/.test(to) && !PURE.includes(to))).toEqual([])
})

test('the commands of users read a setting as the service reads it', () => {
  const faultOf = (read: () => unknown) => {
    try {
      return read()
    } catch (error) {
      return (error as Error).message
    }
  }
  for (const KEY_PREFIX of [undefined, '', ' acme ', 'A!', 'a', 'x'.repeat(17), '1a'])
    expect(faultOf(() => readKeyPrefix({ KEY_PREFIX }))).toBe(faultOf(() => readConfig({ KEY_PREFIX }).KEY_PREFIX))
  for (const PORT of [undefined, '0', '8080', '65536', '-1', 'abc'])
    expect(faultOf(() => readServiceUrl({ PORT, HOST: '::1' }))).toBe(
      faultOf(() => `http://::1:${readConfig({ PORT }).PORT}`),
    )
  expect(readServiceUrl({})).toBe(`http://${readConfig({}).HOST}:3000`)
})
