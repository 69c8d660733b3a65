// Builds what has changed since the last build, and nothing when nothing has. Two commands may do this at once: each
// builds beside, and the first to finish puts its result in place.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')

/**
 * With `ifPossible`, for an installation without the compiler: then the build has to come from elsewhere. `failure` is
 * the exit code when there can be no build.
 */
export function build({ ifPossible = false, failure = 1 } = {}) {
  if (!existsSync(join(root, 'src')) || isFresh()) return
  const compiler = findCompiler()
  if (!compiler) {
    if (existsSync(dist) || ifPossible) return
    fail('There is no build here and no compiler to make one. Run "npm ci" first.', failure)
  }
  process.stderr.write('Building …\n')
  // All of it goes to the draft: a trace of an unfinished build in `dist` would look like a finished one.
  const draft = `${dist}.${process.pid}`
  const out = ['--outDir', draft, '--tsBuildInfoFile', join(draft, '.tsbuildinfo')]
  const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), ...out], {
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) {
    rmSync(draft, { recursive: true, force: true })
    fail('The build failed.', failure)
  }
  putInPlace(draft)
}

/** The command that finished first may be reading its result already: only what is out of date gives way. */
function putInPlace(draft) {
  const old = `${draft}.old`
  if (!isFresh()) {
    move(dist, old)
    move(draft, dist)
  }
  rmSync(draft, { recursive: true, force: true })
  rmSync(old, { recursive: true, force: true })
}

/** A directory moves onto no other: of two that come to an empty place, the first stays. */
function move(from, to) {
  try {
    renameSync(from, to)
  } catch {
    // There is nothing to move, or another was first.
  }
}

function isFresh() {
  return newest(join(root, 'src')) <= newest(dist)
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

function fail(message, code) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
