// `scan` beside `grep -r` with the same pattern on the same bytes, one after the other in one run, both from warm
// memory, their start included. The fastest of the rounds counts, because whatever else the machine does only adds; so
// does the time of the processors, which says what it cost. `npm run bench:scan -- <folder>`; without a folder it reads
// node_modules.

import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROUNDS = 7
const LARGE_BYTES = 1e9
const PATTERN = 'skp_(prod|test|dev)_[0-9A-Za-z]{38}|skp_(sess|svc|inv)_[0-9A-Za-z]{49}'

const tree = realpathSync(process.argv[2] ?? 'node_modules')
const temporary = mkdtempSync(join(tmpdir(), 'scan-bench-'))
try {
  execFileSync(process.execPath, ['bin/storekeeper.js', 'help']) // builds, if need be
  compare('the tree', tree)
  compare('its text in one file', concatenate(join(temporary, 'large.txt')))
} finally {
  rmSync(temporary, { recursive: true })
}

function compare(name: string, path: string): void {
  const rounds = Array.from({ length: ROUNDS }, () => ({
    scan: time([process.execPath, 'bin/storekeeper.js', 'scan', path]),
    grep: time(['grep', '-raE', '--exclude-dir=.git', PATTERN, path]),
  }))
  const best = (tool: 'scan' | 'grep', clock: 'wall' | 'cores') =>
    Math.min(...rounds.map((round) => round[tool][clock]))
  const files = filesIn(path)
  const megabytes = files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6
  console.log(`${name}: ${files.length} files, ${Math.round(megabytes)} MB`)
  for (const clock of ['wall', 'cores'] as const) {
    const [scan, grep] = [best('scan', clock), best('grep', clock)]
    const speeds = [scan, grep].map((seconds) => `${seconds.toFixed(2)} s (${Math.round(megabytes / seconds)} MB/s)`)
    console.log(`  ${clock}: scan ${speeds[0]}, grep ${speeds[1]}, ratio ${(scan / grep).toFixed(2)}`)
  }
}

/** In seconds: by the clock on the wall, and of all cores together. */
function time(command: string[]): { wall: number; cores: number } {
  const script = `TIMEFORMAT='%R %U %S'; { time "$@" >/dev/null 2>&1; } 2>&1; exit 0`
  const env = { ...process.env, LC_ALL: 'C' }
  const out = execFileSync('bash', ['-c', script, 'bash', ...command], { env, encoding: 'utf8' })
  const [wall = 0, user = 0, system = 0] = out.trim().split(' ').map(Number)
  return { wall, cores: user + system }
}

function filesIn(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function concatenate(path: string): string {
  const texts = filesIn(tree).filter((file) => /\.([cm]?[jt]s|json|md)$/.test(file))
  for (let bytes = 0, i = 0; bytes < LARGE_BYTES; i++) {
    const text = readFileSync(texts[i % texts.length] as string)
    appendFileSync(path, text)
    bytes += text.length
  }
  return path
}
