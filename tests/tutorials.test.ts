// The tutorials, and the guide to identity providers, word for word: the files they say to save are saved, their commands
// run in one shell, and what these print is compared with what the page shows. All of them use one service.

import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from './free-port.ts'
import { shop } from './shop.ts'

const PAGES = [
  'docs/tutorials/protect-your-api.md',
  'docs/tutorials/connect-your-logins.md',
  'docs/tutorials/checkout-addresses.md',
  'docs/tutorials/protect-a-back-end.md',
  'docs/guides/identity-provider.md',
]
const SERVICE = 'http://127.0.0.1:3000'
/** Where the pages say that the clone is. */
const CLONE = '/opt/storekeeper'

type Block = { language: string; body: string; file: string | null }

/** Blocks at the margin: one inside a list is an excerpt for another system. */
function blocksOf(page: string): Block[] {
  const found = page.matchAll(/(?:`([\w-]+\.mjs)`[^`]*:\n\n)?^```(\w+)\n(.*?)^```$/gms)
  return [...found].map(([, file, language, body]) => ({
    language: language as string,
    body: body as string,
    file: language === 'js' ? (file ?? null) : null,
  }))
}

const hasShell = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0)

// What is packed and what is run is built first, without a word on anybody's terminal.
beforeAll(() => void spawnSync(process.execPath, ['bin/skp.js', '--version']), 240_000)

test.skipIf(!hasShell)('the tutorials and the guide to identity providers do what they say', async () => {
  const pages = PAGES.map((path) => ({ path, page: readFileSync(path, 'utf8') }))
  const ports = new Map<string, string>()
  for (const { page } of pages)
    for (const [, port] of page.matchAll(/127\.0\.0\.1:(4\d{3})/g))
      if (!ports.has(port as string)) ports.set(port as string, String(await freePort()))
  // In one pass: one after the other, what was put in for one port could hold the digits of the next.
  const moved = (page: string) => page.replace(/\b4\d{3}\b/g, (port) => ports.get(port) ?? port)

  const start = pages.flatMap(({ page }) => blocksOf(moved(page))).find(({ body }) => body.includes('npm start'))
  const settings = Object.fromEntries(
    [...(start?.body ?? '').matchAll(/^(JWT_\w+)=(\S+)/gm)].map(([, name, value]) => [name, value]),
  )
  expect(Object.keys(settings)).toEqual(['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL'])
  const { api } = await shop({ ...settings, RATE_LIMIT: '600' })
  for (const { path, page } of pages) {
    expect(page, path).toContain(SERVICE)
    await follow(path, blocksOf(moved(page.replaceAll(SERVICE, api.url)).replaceAll(CLONE, process.cwd())))
  }
})

/** A reader's folder. What `npm install` would put there is there already, unless the page installs a package of ours. */
function newFolder({ isEmpty }: { isEmpty: boolean }): string {
  const folder = mkdtempSync(join(tmpdir(), 'storekeeper-tutorial-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  if (!isEmpty) symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** What was packed is installed; what would come from a registry is that of this repository. */
const NPM = `npm() {
  case "$*" in
    'install express') ;;
    'install --silent express ./storekeeper-client-'*) command npm install --silent --offline "$4" && ln -s ${process.cwd()}/node_modules/express node_modules/ ;;
    'pack --silent '*) command npm "$@" ;;
    *) return 1 ;;
  esac
}`

const MARK = '----- the output of block'

async function follow(path: string, blocks: Block[]): Promise<void> {
  const folder = newFolder({ isEmpty: blocks.some(({ body }) => body.includes('npm pack')) })
  const steps: string[] = [NPM, "trap 'kill $(jobs -p)' EXIT"]
  // What skp says to people is on the reader's terminal too.
  if (blocks.some(({ body }) => body.includes('skp '))) steps.push('exec 2>&1')
  blocks.forEach(({ language, body, file }, n) => {
    // Saved at its place in the page, into the folder that the commands before have changed to.
    if (file) {
      writeFileSync(join(folder, `${n}.saved`), body)
      steps.push(`cp ${join(folder, `${n}.saved`)} ${file}`)
    }
    if (language !== 'sh' || body.includes('npm start')) return
    steps.push(`echo '${MARK} ${n}'`, isServer(body) ? inBackground(body, n) : body)
  })
  const out = await bash(path, steps.join('\n'), folder)

  const printed = new Map(
    out
      .split(`${MARK} `)
      .slice(1)
      .map((part) => [Number.parseInt(part, 10), part.replace(/^\d+\n/, '')]),
  )
  blocks.forEach(({ language }, n) => {
    const next = blocks[n + 1]
    if (language !== 'sh' || !printed.has(n)) return
    const shown = next && ['text', 'json'].includes(next.language) ? next : null
    const where = `${path}, block ${n + 1}`
    if (shown?.language === 'json') expectJson(where, printed.get(n) as string, shown.body)
    else expectText(where, printed.get(n) as string, shown?.body ?? '')
  })
  expect(printed.size, path).toBeGreaterThan(3)
}

/** What a page says to leave running in a terminal of its own. */
function isServer(body: string): boolean {
  return /^node (--env-file=\.env )?[\w-]+\.mjs\n$/.test(body)
}

function inBackground(body: string, n: number): string {
  const log = `${n}.log`
  return `${body.trim()} > ${log} &\nuntil [ -s ${log} ]; do kill -0 $!; sleep 0.05; done; cat ${log}`
}

async function bash(path: string, script: string, cwd: string): Promise<string> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_|^STOREKEEPER_/i.test(name))
  const env = {
    ...Object.fromEntries(inherited),
    XDG_CONFIG_HOME: cwd,
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  }
  const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd, env })
  const ended = new Promise((resolve) => shell.once('close', resolve))
  const [out, err, status] = await Promise.all([text(shell.stdout), text(shell.stderr), ended])
  expect({ path, status, err, out: status === 0 ? '' : out }).toEqual({ path, status: 0, err: '', out: '' })
  return out
}

/** Line by line; where the page says `…`, anything. */
function expectText(where: string, actual: string, shown: string): void {
  const pattern = shown
    .trim()
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')
  expect({ where, actual: actual.trim(), asShown: new RegExp(`^${pattern}$`).test(actual.trim()) }).toEqual({
    where,
    actual: actual.trim(),
    asShown: true,
  })
}

/** The same members; where the page says `…`, whatever begins like it. */
function expectJson(where: string, actual: string, shown: string): void {
  const expected: unknown = JSON.parse(shown)
  expect({ where, actual: alike(JSON.parse(actual), expected) }).toEqual({ where, actual: expected })
}

function alike(actual: unknown, shown: unknown): unknown {
  if (typeof shown === 'string' && shown.endsWith('…'))
    return typeof actual === 'string' && actual.startsWith(shown.slice(0, -1)) ? shown : actual
  if (typeof actual !== 'object' || actual === null || typeof shown !== 'object' || shown === null) return actual
  const entries = Object.entries(actual).map(([name, value]) => [name, alike(value, Reflect.get(shown, name))])
  return Array.isArray(actual) ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}
