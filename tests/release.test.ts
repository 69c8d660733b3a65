// What is released: the files of the packages, and the dependencies that come with them. `npm run check:package` installs the
// packages, `npm run release` makes them.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isAllowed, WITH_INSTALL_SCRIPT } from '../scripts/release/policy.ts'

type Locked = {
  version?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  license?: string
  integrity?: string
  hasInstallScript?: boolean
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }
const own = Object.entries(lock.packages).filter(([path]) => !path.includes('node_modules/'))
const others = Object.entries(lock.packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

test('every dependency is pinned to a version, and all that is released to its bytes', () => {
  const ranges = own.flatMap(([, { dependencies, devDependencies, optionalDependencies }]) =>
    Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }),
  )
  expect(ranges.length).toBeGreaterThan(40)
  expect(ranges.filter(([, range]) => !/^(npm:[\w@/.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(range))).toEqual([])
  expect(others.length).toBeGreaterThan(200)
  // npm has no hash of binaries for other platforms that only the build uses: nothing of them is released.
  const isForeign = ({ dev, optional, os, cpu }: Locked) => dev && optional && (os ?? cpu) !== undefined
  const unpinned = others.filter(([, each]) => !each.integrity?.startsWith('sha512-') && !isForeign(each))
  expect(unpinned.map(([path]) => nameOf(path))).toEqual([])
})

test('the licences of what is released are on the list, and no package has an install script that is not', () => {
  const released = others.filter(([, { dev }]) => !dev)
  expect(released.length).toBeGreaterThan(60)
  const wanting = released.filter(([, { license }]) => !isAllowed(license))
  expect(wanting.map(([path, { license }]) => `${nameOf(path)}: ${license}`)).toEqual([])
  const scripted = others.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path))
  expect(scripted.filter((name) => !WITH_INSTALL_SCRIPT.some((pattern) => pattern.test(name)))).toEqual([])
  const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(scripted.filter((name) => allowScripts[name] !== false)).toEqual([])
  expect([isAllowed('(GPL-3.0-only OR MIT)'), isAllowed('GPL-3.0-only'), isAllowed(undefined)]).toEqual([
    true,
    false,
    false,
  ])
})

test('the package of the service has what it reads and runs, and no test, no source, no data', () => {
  const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    encoding: 'utf8',
    stdio: 'pipe',
  })
  const [{ files }] = Object.values(JSON.parse(said)) as [{ files: { path: string }[] }]
  const paths = files.map(({ path }) => path)
  const known = [
    /^(package\.json|README\.md|LICENSE|NOTICE|CHANGELOG\.md)$/,
    /^bin\/(build|skp|start|storekeeper)\.js$/,
    /^dist\/.+\.(js|json)$/,
    /^dist\/dashboard\/(index\.html|third-party(-licenses\.txt|\.json)|assets\/[\w-]+\.(js|css|svg)(\.br|\.gz)?|\.vite\/manifest\.json)$/,
    /^packages\/cli\/(bin\/skp|dist\/main)\.js$/,
    /^migrations\/\d{4}_\w+\.sql$/,
    /^docs\/([\w-]+\/)*[\w-]+\.md$/,
    /^docs\/openapi\.json$/,
    /^deploy\/systemd\/[\w.]+$/,
  ]
  expect(paths.filter((path) => path.includes('.test.') || !known.some((pattern) => pattern.test(path)))).toEqual([])
  const wanted = [
    ...readdirSync('migrations').map((name) => `migrations/${name}`),
    'bin/storekeeper.js',
    'docs/install.md',
  ]
  expect(wanted.filter((path) => !paths.includes(path))).toEqual([])
})
