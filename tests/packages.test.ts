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
  'src/cli/plain.ts',
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

test('every dependency runs on Node.js 20.19 and 24, and the lock file names no registry', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { engines?: { node?: string }; deprecated?: string; resolved?: string }>
  }
  const wanting = Object.entries(packages).filter(
    ([, { engines, deprecated }]) =>
      deprecated || !['20.19.0', '24.0.0'].every((version) => satisfies(version, engines?.node ?? '*')),
  )
  expect(wanting).toEqual([])
  expect(Object.values(packages).filter(({ resolved }) => resolved?.includes('://'))).toEqual([])
})

/** The part of npm's version ranges that `engines` are written in: alternatives of one `>=`, `^` or plain version each. */
function satisfies(version: string, range: string): boolean {
  return range.split('||').some((alternative) => {
    const [, operator, wanted = ''] = /^\s*(>=|\^|)\s*([\d.x*]+)\s*$/.exec(alternative) ?? []
    if (operator === undefined) throw new Error(`Not a range this test can read: ${range}`)
    const digits = wanted.split('.').filter((part) => /^\d+$/.test(part))
    if (operator === '') return digits.every((part, i) => part === version.split('.')[i])
    const newEnough = version.localeCompare(digits.join('.'), 'en', { numeric: true }) >= 0
    return newEnough && (operator === '>=' || digits[0] === version.split('.')[0])
  })
}
