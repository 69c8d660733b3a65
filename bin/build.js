// Builds what has changed since the last build, and nothing when nothing has. Two commands may build at once: each builds
// into a folder of its own and moves the result into its place file by file, so that a file there is always whole. The
// note in `dist/builds` comes last: it tells which state of a project's sources was built.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const NOTES = join(root, 'dist/builds')
const [tsc, vite] = ['typescript/bin/tsc', 'vite/bin/vite.js'].map((path) => join(root, 'node_modules', path))

const compile = (folder) => (draft) => [tsc, '-p', join(root, folder, 'tsconfig.build.json'), '--outDir', draft]
const bundle = (folder) => (draft) => {
  const config = join(root, folder, 'vite.config.ts')
  return [vite, 'build', '--config', config, '--outDir', draft, '--emptyOutDir', '--logLevel', 'warn']
}

/** In this order: the command line and the dashboard use the client. `replaces`: a bundle's files may have other names than before. */
const PROJECTS = [
  { name: 'client', sources: ['packages/client/src'], dist: 'packages/client/dist', args: compile('packages/client') },
  { name: 'service', sources: ['src'], dist: 'dist', args: compile('.') },
  {
    name: 'cli',
    sources: ['packages/cli/src', 'packages/client/src', 'src'],
    dist: 'packages/cli/dist',
    replaces: true,
    args: bundle('packages/cli'),
  },
  {
    name: 'dashboard',
    sources: ['packages/dashboard/src', 'packages/client/src'],
    dist: 'dist/dashboard',
    replaces: true,
    args: bundle('packages/dashboard'),
  },
]

/** `ifPossible`: without a compiler nothing is built, and nothing said. `failure`: the exit code when there is no build. */
export function build({ ifPossible = false, failure = 1 } = {}) {
  const stale = PROJECTS.map((project) => ({ ...project, state: stateOf(project) })).filter(
    ({ name, state, dist }) => state !== null && !(existsSync(join(root, dist)) && state === builtFrom(name)),
  )
  if (stale.length === 0) return
  if (!existsSync(tsc)) {
    if (ifPossible || stale.every(({ dist }) => existsSync(join(root, dist)))) return
    fail(
      'There is no build in dist/, and the TypeScript compiler that makes one is a dev dependency. Run "npm ci", which builds; then "npm prune --omit=dev" removes what only the build needs.',
      failure,
    )
  }
  process.stderr.write('Building …\n')
  for (const project of stale) if (!buildProject(project)) fail('The build failed.', failure)
}

function buildProject({ name, dist, args, state, replaces = false }) {
  const [place, draft] = [join(root, dist), join(root, `${dist}.${process.pid}`)]
  // Whoever builds, a test runner too: what is served is React for production.
  const env = { ...process.env, NODE_ENV: 'production' }
  const built = spawnSync(process.execPath, args(draft), { stdio: ['ignore', 2, 2], env }).status === 0
  if (built) moveFiles(draft, place, replaces)
  rmSync(draft, { recursive: true, force: true })
  if (!built) return false
  mkdirSync(NOTES, { recursive: true })
  writeFileSync(join(NOTES, name), state)
  return true
}

function builtFrom(name) {
  const note = join(NOTES, name)
  return existsSync(note) ? readFileSync(note, 'utf8') : null
}

/**
 * When the newest file or folder was changed: a folder changes when a file in it is added, renamed or removed. Tests are not
 * built. Null for a project that is not there.
 */
function stateOf({ sources }) {
  const folders = sources.map((source) => join(root, source))
  if (!folders.every((folder) => existsSync(folder))) return null
  const isBuilt = (name) => !name.endsWith('.test.ts')
  const inside = folders.flatMap((path) =>
    readdirSync(path, { recursive: true })
      .filter(isBuilt)
      .map((name) => join(path, name)),
  )
  return String(Math.max(...[...folders, ...inside].map((path) => statSync(path).mtimeMs)))
}

/** `replaces`: what was there before and is not there now is removed. */
function moveFiles(from, to, replaces) {
  mkdirSync(to, { recursive: true })
  const gone = replaces ? readdirSync(to).filter((name) => !existsSync(join(from, name))) : []
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const move = entry.isDirectory() ? moveFiles : renameSync
    move(join(from, entry.name), join(to, entry.name), replaces)
  }
  for (const name of gone) rmSync(join(to, name), { recursive: true, force: true })
}

function fail(message, code) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
