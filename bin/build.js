// Builds what has changed since the last build, and nothing when nothing has. Two commands may build at once: each
// compiles into a folder of its own and moves the result into `dist` file by file, so that a file in `dist` is always
// whole. `dist/built-from` comes last: it tells which state of the sources was built.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** Each has its sources in `src` and a tsconfig.build.json beside, and is built into `dist`; in order, the client first. */
const PROJECTS = [
  { folder: 'packages/client', dist: 'packages/client/dist' },
  { folder: '.', dist: 'dist' },
  { folder: 'packages/cli', dist: 'packages/cli/dist' },
].map(({ folder, dist }) => ({ folder: join(root, folder), dist: join(root, dist) }))
const [dist, compiler] = [join(root, 'dist'), join(root, 'node_modules/typescript/bin/tsc')]

/** `ifPossible`: without a compiler nothing is built, and nothing said. `failure`: the exit code when there is no build. */
export function build({ ifPossible = false, failure = 1 } = {}) {
  const [note, state] = [join(dist, 'built-from'), stateOfSources()]
  const isWhole = PROJECTS.every(({ dist }) => existsSync(dist))
  if (state === null || (isWhole && existsSync(note) && readFileSync(note, 'utf8') === state)) return
  if (!existsSync(compiler)) {
    if (isWhole || ifPossible) return
    fail(
      'There is no build in dist/, and the TypeScript compiler that makes one is a dev dependency. Run "npm ci", which builds; then "npm prune --omit=dev" removes what only the build needs.',
      failure,
    )
  }
  process.stderr.write('Building …\n')
  if (!PROJECTS.every(compile)) fail('The build failed.', failure)
  writeFileSync(note, state)
}

function compile({ folder, dist }) {
  const draft = `${dist}.${process.pid}`
  const args = [compiler, '-p', join(folder, 'tsconfig.build.json'), '--outDir', draft]
  const compiled = spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] }).status === 0
  if (compiled) moveFiles(draft, dist)
  rmSync(draft, { recursive: true, force: true })
  return compiled
}

/** When the newest file or folder was changed: a folder changes when a file in it is added, renamed or removed. */
function stateOfSources() {
  if (!existsSync(join(root, 'src'))) return null
  const folders = PROJECTS.map(({ folder }) => join(folder, 'src'))
  const inside = folders.flatMap((path) => readdirSync(path, { recursive: true }).map((name) => join(path, name)))
  return String(Math.max(...[...folders, ...inside].map((path) => statSync(path).mtimeMs)))
}

function moveFiles(from, to) {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const move = entry.isDirectory() ? moveFiles : renameSync
    move(join(from, entry.name), join(to, entry.name))
  }
}

function fail(message, code) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
