// Builds what has changed since the last build, and nothing when nothing has. Two commands may do this at once: each
// builds beside, and the first to finish puts its result in place.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')

export function build() {
  if (!existsSync(join(root, 'src')) || newest(join(root, 'src')) <= newest(dist)) return
  const compiler = findCompiler()
  if (!compiler) {
    if (existsSync(dist)) return
    fail('There is no build here and no compiler to make one. Run "npm ci" first.')
  }
  process.stderr.write('Building …\n')
  const draft = `${dist}.${process.pid}`
  const { status } = spawnSync(
    process.execPath,
    [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', draft],
    {
      stdio: ['ignore', 2, 2],
    },
  )
  if (status !== 0) {
    rmSync(draft, { recursive: true, force: true })
    fail('The build failed.')
  }
  rmSync(dist, { recursive: true, force: true })
  try {
    renameSync(draft, dist)
  } catch {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** The time of the newest file below a folder, 0 where there is none. */
function newest(folder) {
  if (!existsSync(folder)) return 0
  return Math.max(
    0,
    ...readdirSync(folder, { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? newest(join(folder, entry.name)) : statSync(join(folder, entry.name)).mtimeMs,
    ),
  )
}

function findCompiler() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  } catch {
    return null
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
