// The command `scan`: its output, its exit codes, the tree, the pipe and the history of a real git repository. It is
// called inside the test, and as a process where the process is what is tested.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { run } from '../packages/cli/src/run.ts'
import { scanTarget } from '../packages/cli/src/scan/files.ts'
import { newProgress } from '../packages/cli/src/scan/progress.ts'
import { Search } from '../packages/cli/src/scan/search.ts'
import { textOutput } from '../src/cli/io.ts'
import { mintToken, type TokenKind } from '../src/crypto/tokens.ts'
import { call } from './command.ts'

const repository = process.cwd()
const MIB = 1024 * 1024
const SUMMARY = /^(\d+) found in ([\d,]+) (?:files?|objects?), [\d.]+ k?[MG]?B, [\d.]+ s/m

let folder = ''
// The first command builds what has changed, and says so. On a busy machine the compiler takes its time.
beforeAll(() => void spawnSync(process.execPath, ['bin/skp.js', '--help']), 240_000)
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'scan-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const mint = (kind: TokenKind, prefix = 'skp') => mintToken(prefix, kind).reveal()
const shown = (token: string) => `${token.slice(0, token.lastIndexOf('_') + 5)}…`

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

type Run = { input?: string | Buffer; env?: Record<string, string>; cwd?: string }

/** Without the lines of progress: on a busy machine even a short scan has some. */
async function scan(args: string[], { cwd = folder, ...world }: Run = {}) {
  const done = await call(run, ['scan', ...args], { cwd, ...world })
  return { ...done, err: done.err.replaceAll(/^.* …\n/gm, '') }
}

// ---- output and exit codes ------------------------------------------------------------------------------------------

test('each find is a line with place, kind and the start of the token; the exit code is 1', async () => {
  const tokens = (['prod', 'test', 'dev', 'sess', 'svc', 'inv'] as const).map((kind) => ({ kind, text: mint(kind) }))
  tokens.forEach(({ text }, i) => write(`${i}.env`, `# for the shop\nKEY=${text}\n`))
  const { code, lines, out, err } = await scan(['.'])
  expect(lines).toEqual(tokens.map(({ kind, text }, i) => `${i}.env:2:5  ${kind}  ${shown(text)}`))
  for (const { text } of tokens) expect(out + err).not.toContain(text.slice(0, text.lastIndexOf('_') + 6))
  expect(err).toMatch(/^6 found in 6 files, \d+ B, [\d.]+ s\n$/)
  expect(code).toBe(1)
})

test('--json prints a line of JSON for each find', async () => {
  const token = mint('prod')
  write('a/"b".txt', `x\n\n${token}`)
  const { code, lines } = await scan(['--json', 'a'])
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { path: 'a/"b".txt', line: 3, column: 1, kind: 'prod', start: shown(token).slice(0, -1) },
  ])
  expect(code).toBe(1)
})

test('nothing found is exit code 0, also beside what only looks like a token', async () => {
  const token = mint('prod')
  write('wrong.txt', `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)
  write('short.txt', token.slice(0, -1))
  write('other.txt', mint('prod', 'acme'))
  expect(await scan(['.'])).toMatchObject({ code: 0, out: '', err: expect.stringMatching(/^0 found in 3 files, /) })
  expect(await scan(['.'], { env: { KEY_PREFIX: 'acme' } })).toMatchObject({
    code: 1,
    lines: [expect.stringMatching(/^other/)],
  })
})

test('no setting but KEY_PREFIX is looked at', async () => {
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', PORT: 'abc' }
  expect((await scan(['.'], { env })).code).toBe(0)
  const wrong = await scan(['.'], { env: { ...env, KEY_PREFIX: 'A!' } })
  expect(wrong).toMatchObject({ code: 2, out: '' })
  expect(wrong.err).toContain('KEY_PREFIX must be 2 to 16 lower-case letters and digits')
  expect(wrong.err).not.toContain('PORT')
})

test('what cannot be done is exit code 2 and a sentence with the way out', async () => {
  write('a.txt', mint('prod'))
  const cases: [string[], string][] = [
    [['a.txt', 'gone'], 'Cannot read gone: it is not there. Name a file or a folder that you may read.\n'],
    [['--history', 'a.txt'], 'a.txt is no folder: --history takes the folder of a git repository.\n'],
    [['--history', '-'], '--history reads a git repository, so name its folder instead of "-".\n'],
    [['--skip', 'a/b', '.'], '--skip takes the name of a file or folder, not a path such as "a/b".\n'],
  ]
  for (const [args, sentence] of cases) expect(await scan(args)).toMatchObject({ code: 2, out: '', err: sentence })
  const notOne = await scan(['--history', '.'], { env: { GIT_CEILING_DIRECTORIES: dirname(folder) } })
  expect(notOne).toMatchObject({ code: 2, out: '' })
  expect(notOne.err).toMatch(/^Git cannot read the history at \. \(not a git repository.*: name the folder of a whole/)
  expect(await scan(['--history', '.'], { env: { PATH: folder } })).toMatchObject({
    code: 2,
    err: '--history needs git, which was not found: install it, or add its folder to PATH.\n',
  })
})

test('help is printed when asked for, and when the words make no sense', async () => {
  const help = await scan(['--help'])
  expect(help).toMatchObject({ code: 0, err: '' })
  expect(help.out).toMatch(/^Usage: skp scan/)
  expect((await scan(['-h'])).out).toBe(help.out)
  const cases: [string[], RegExp][] = [
    [[], /^Say what to scan: a file, a folder, or "-"\.\n\nUsage:/],
    [['--hystory', '.'], /^Unknown option '--hystory'\. Did you mean --history\?\n\nUsage:/],
    [['.', '--skip'], /^Option '--skip <name>' argument missing\.\n\nUsage:/],
    [['--skip', '--history', '.'], /^Option '--skip <name>' has no value: '--history' is an option too\.\n\nUsage:/],
  ]
  for (const [args, words] of cases)
    expect(await scan(args)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(words) })
})

test('through npm a path is where its caller stands, and the exit codes come through', () => {
  write('below/a.txt', mint('prod'))
  const npm = (path: string) => {
    const args = ['--prefix', repository, 'run', '--silent', 'skp', '--', 'scan', path]
    const env = { PATH: process.env.PATH, HOME: folder, npm_config_update_notifier: 'false' }
    const { status, stdout } = spawnSync('npm', args, { cwd: join(folder, 'below'), env, encoding: 'utf8' })
    return [status, stdout.split('  ')[0]]
  }
  mkdirSync(join(folder, 'empty'))
  expect(npm('a.txt')).toEqual([1, 'a.txt:1:1'])
  expect(npm('../empty')).toEqual([0, ''])
  expect(npm('b.txt')).toEqual([2, ''])
})

test('whoever reads the finds may stop early', async () => {
  write('many.txt', `${mint('prod')}\n`.repeat(80_000))
  const child = spawn(process.execPath, [join(repository, 'bin/skp.js'), 'scan', folder])
  child.stdout.once('data', () => child.stdout.destroy())
  let err = ''
  child.stderr.on('data', (words) => (err += words))
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1)
  expect(err).not.toContain('EPIPE')
})

// ---- trees ----------------------------------------------------------------------------------------------------------

test('everything is read but .git, what --skip names, and what links lead to', async () => {
  const token = mint('prod')
  for (const path of ['a.txt', 'node_modules/b.js', 'c/.env', 'c/d/e.bin', '.git/config', 'c/.git/config', 'f/skipped'])
    write(path, Buffer.concat([Buffer.from([0, 255, 10]), Buffer.from(token)]))
  const outside = mkdtempSync(join(tmpdir(), 'scan-outside-'))
  try {
    writeFileSync(join(outside, 'secret.txt'), token)
    symlinkSync(outside, join(folder, 'c/out'))
    symlinkSync(join(outside, 'secret.txt'), join(folder, 'c/out.txt'))
    symlinkSync('..', join(folder, 'c/circle'))
    symlinkSync('a.txt', join(folder, 'again.txt'))
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'c/pipe')])
    const paths = async (args: string[]) => (await scan(args)).lines.map((line) => line.replace(/:2:1 .*/, ''))
    expect(await paths(['.'])).toEqual(['a.txt', 'c/.env', 'c/d/e.bin', 'f/skipped', 'node_modules/b.js'])
    expect(await paths(['.', '--skip', 'node_modules', '--skip', 'skipped'])).toEqual(['a.txt', 'c/.env', 'c/d/e.bin'])
    // What is named is read.
    expect(await paths(['again.txt', '.git', 'c/d/'])).toEqual(['again.txt', '.git/config', 'c/d/e.bin'])
    expect((await scan([join(folder, 'c/out')])).lines[0]).toContain(`${join(folder, 'c/out/secret.txt')}:1:1  prod`)
  } finally {
    rmSync(outside, { recursive: true })
  }
})

test.skipIf(process.platform !== 'linux')('a name need not be UTF-8, and cannot speak to the terminal', async () => {
  const bytes = [
    Buffer.from(`${folder}/`),
    Buffer.from([0x66, 0xff, 0x1b, 0x5b, 0x0a, 0x67]),
    Buffer.from('\u009b\u202e'),
  ]
  writeFileSync(Buffer.concat(bytes), mint('prod'))
  const shown = 'f\ufffd\\u001b[\\u000ag\\u009b\\u202e'
  expect((await scan(['.'])).lines).toEqual([expect.stringContaining(`${shown}:1:1  prod`)])
  const [json] = (await scan(['--json', '.'])).lines
  expect(json).toMatch(/^[ -~\ufffd…]+$/)
  expect(JSON.parse(json as string).path).toBe('f\ufffd\x1b[\ng\u009b\u202e')
})

test('tokens across the borders of the pieces are found, in one very long line too', async () => {
  const tokens = [1, 9, 20, 46].map((before) => ({ before, text: mint('prod') }))
  const file = openSync(join(folder, 'long.bin'), 'w')
  tokens.forEach(({ before, text }, i) => writeSync(file, text, (i + 1) * MIB - before))
  const last = mint('sess')
  writeSync(file, last, 256 * MIB)
  closeSync(file)
  const { lines, err } = await scan(['long.bin'])
  expect(lines).toEqual([
    ...tokens.map(({ before, text }, i) => `long.bin:1:${(i + 1) * MIB - before + 1}  prod  ${shown(text)}`),
    `long.bin:1:${256 * MIB + 1}  sess  ${shown(last)}`,
  ])
  expect(err).toMatch(/^5 found in 1 file, 268 MB, /m)
})

test('the lines of a large file are counted up to each find', async () => {
  const [first, second] = [mint('prod'), mint('inv')]
  const text = `${'x'.repeat(63)}\n`.repeat(40_000)
  write('large.txt', `${text}KEY=${first}\n${text}\n  ${second}\n`)
  expect((await scan(['large.txt'])).lines).toEqual([
    `large.txt:40001:5  prod  ${shown(first)}`,
    `large.txt:80003:3  inv  ${shown(second)}`,
  ])
})

test('a file that is gone when its turn comes is a warning, not the end', async () => {
  for (const name of ['a', 'b', 'c']) write(name, mint('prod'))
  const said: string[] = []
  const progress = newProgress(textOutput(() => {}, { write: (text) => said.push(text) }).stderr, 'file')
  const turn = () => {
    rmSync(join(folder, 'b'), { force: true })
    return null
  }
  const target = { given: 'here', real: folder, stats: statSync(folder) }
  const found: string[] = []
  await scanTarget(target, new Search('skp'), new Set(), { ...progress, turn }, (path) => found.push(path))
  progress.summary()
  expect(found).toEqual(['here/a', 'here/c'])
  expect(said).toEqual([
    'Could not read here/b: it is not there\n',
    expect.stringMatching(/^0 found in 2 files, \d+ B, [\d.]+ s; 1 could not be read\n$/),
  ])
})

test('what one may not read is a warning in a tree, and exit code 2 where it is named', async ({ skip }) => {
  skip(process.getuid?.() === 0, 'root may read everything')
  write('a/closed.txt', mint('prod'))
  write('a/open.txt', mint('prod'))
  chmodSync(join(folder, 'a/closed.txt'), 0)
  const tree = await scan(['a'])
  expect(tree).toMatchObject({ code: 1, lines: [expect.stringMatching(/^a\/open\.txt/)] })
  expect(tree.err).toMatch(
    /^Could not read a\/closed\.txt: no permission\n1 found in 1 file, .*; 1 could not be read\n$/,
  )
  expect(await scan(['a/closed.txt'])).toMatchObject({
    code: 2,
    err: 'Cannot read a/closed.txt: no permission. Run the scan as a user who may read it, or leave it out.\n',
  })
})

// ---- what is piped in -----------------------------------------------------------------------------------------------

test('"-" reads what is piped in', async () => {
  const token = mint('test')
  const input = Buffer.concat([Buffer.alloc(3 * MIB, 'x\n'), Buffer.from(`KEY=${token}\n`)])
  expect(await scan(['-'], { input })).toMatchObject({
    code: 1,
    lines: [`-:${1.5 * MIB + 1}:5  test  ${shown(token)}`],
  })
  expect(await scan(['-'])).toMatchObject({ code: 0, out: '', err: expect.stringMatching(SUMMARY) })
})

test('a pipe that is named is read too', async () => {
  const token = mint('test')
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'pipe')])
  const writer = spawn('sh', ['-c', `printf %s ${token} > pipe`], { cwd: folder })
  expect(await scan(['pipe'])).toMatchObject({ code: 1, lines: [`pipe:1:1  test  ${shown(token)}`] })
  expect(writer.pid).toBeGreaterThan(0)
})

// ---- history --------------------------------------------------------------------------------------------------------

/** Nobody's settings, and a clock that goes on by a minute with each commit. */
let minutes = 0
function git(...args: string[]): string {
  const date = `2026-01-01T00:${String(minutes++ % 60).padStart(2, '0')}:00Z`
  const who = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.com', GIT_AUTHOR_DATE: date }
  const also = { GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.com', GIT_COMMITTER_DATE: date }
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1', ...who, ...also }
  return execFileSync('git', args, { cwd: join(folder, 'shop'), env, encoding: 'utf8', stdio: 'pipe' }).trim()
}

function commit(message: string, files: Record<string, string | null>): string {
  for (const [path, content] of Object.entries(files))
    if (content === null) rmSync(join(folder, 'shop', path))
    else write(`shop/${path}`, content)
  git('add', '--all')
  git('commit', '--quiet', '--allow-empty', '-m', message)
  return git('rev-parse', 'HEAD')
}

function newRepository(): void {
  minutes = 0
  mkdirSync(join(folder, 'shop'))
  git('init', '--quiet', '--initial-branch=main')
}

test('a token that was committed and removed is found, at the commit that brought it', async () => {
  newRepository()
  const token = mint('prod')
  commit('begin', { 'README.md': 'A shop\n' })
  const leak = commit('settings', { 'config/app settings.env': `A=1\nKEY=${token}\n` })
  commit('more settings', { 'config/app settings.env': `A=1\nKEY=${token}\nB=2\n` })
  commit('oops', { 'config/app settings.env': 'A=1\nB=2\n' })
  expect(await scan(['shop'])).toMatchObject({ code: 0, out: '' })
  const { code, lines, err } = await scan(['--history', 'shop'])
  expect(lines).toEqual([`${leak.slice(0, 12)}:config/app settings.env:2:5  prod  ${shown(token)}`])
  expect(err).toMatch(/^1 found in 8 objects, /)
  expect(code).toBe(1)
  const named = (lines[0] as string).split(':2:5')[0] as string
  expect(git('show', named)).toBe(`A=1\nKEY=${token}`)
  const [find] = (await scan(['--history', '--json', 'shop/config'])).lines.map((line) => JSON.parse(line))
  expect(find).toEqual({
    path: 'config/app settings.env',
    line: 2,
    column: 5,
    kind: 'prod',
    start: shown(token).slice(0, -1),
    commit: leak,
    object: git('rev-parse', `${leak}:config/app settings.env`),
  })
  expect(await scan(['--history', '--skip', 'config', 'shop'])).toMatchObject({ code: 0, out: '' })
})

test('other branches, merges, messages and tags are history too; what no ref leads to is not', async () => {
  newRepository()
  const tokens = Object.fromEntries(
    ['branch', 'merge', 'message', 'tag', 'dropped'].map((place) => [place, mint('dev')]),
  ) as Record<string, string>
  commit('begin', { a: 'a' })
  git('switch', '--quiet', '-c', 'side')
  const side = commit('side', { b: `${tokens.branch}` })
  git('switch', '--quiet', 'main')
  commit('main', { a: 'aa' })
  git('merge', '--quiet', '--no-commit', 'side')
  const merge = commit('merge', { c: `\n${tokens.merge}` })
  const message = commit(`the key is ${tokens.message}`, { b: null, c: null })
  git('tag', '-a', 'v1', '-m', `${tokens.tag}`)
  const tag = git('rev-parse', 'v1')
  commit('dropped', { d: `${tokens.dropped}` })
  git('reset', '--quiet', '--hard', 'HEAD~1')
  const { lines } = await scan(['--history', 'shop'])
  expect(lines.sort()).toEqual(
    [
      `${side.slice(0, 12)}:b:1:1  dev  ${shown(tokens.branch as string)}`,
      `${merge.slice(0, 12)}:c:2:1  dev  ${shown(tokens.merge as string)}`,
      `${message.slice(0, 12)}:(commit message):6:12  dev  ${shown(tokens.message as string)}`,
      `${tag.slice(0, 12)}:(tag message):6:1  dev  ${shown(tokens.tag as string)}`,
    ].sort(),
  )
})

test('large objects stream, an empty repository holds nothing, and a shallow clone says what is missing', async () => {
  newRepository()
  expect(await scan(['--history', 'shop'])).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^0 found in 0 objects/),
  })
  const token = mint('svc')
  const large = commit('large', { empty: '', 'large.txt': `${'x'.repeat(99)}\n`.repeat(100_000) + token, last: 'end' })
  commit('gone', { 'large.txt': null })
  expect((await scan(['--history', 'shop'])).lines).toEqual([
    `${large.slice(0, 12)}:large.txt:100001:1  svc  ${shown(token)}`,
  ])
  git('clone', '--quiet', '--depth', '1', `file://${join(folder, 'shop')}`, join(folder, 'shallow'))
  const shallow = await scan(['--history', 'shallow'])
  expect(shallow).toMatchObject({ code: 0, out: '' })
  expect(shallow.err).toMatch(/^This clone is shallow, .*"git fetch --unshallow" to get it\.\n0 found in /)
})

test('in a hook of one repository another is read as asked', async () => {
  newRepository()
  commit('leak', { a: mint('prod') })
  mkdirSync(join(folder, 'other'))
  execFileSync('git', ['init', '--quiet', join(folder, 'other')])
  expect((await scan(['--history', 'shop'], { env: { GIT_DIR: join(folder, 'other/.git') } })).code).toBe(1)
})

test('nothing runs that the repository names: it may be a stranger’s', async () => {
  newRepository()
  commit('leak', { a: mint('prod') })
  const ran = join(folder, 'ran')
  git('config', 'core.fsmonitor', `touch "${ran}"; false`)
  const { code, lines } = await scan(['--history', 'shop'])
  expect([code, lines.length, existsSync(ran)]).toEqual([1, 1, false])
  // It would have been run.
  git('status')
  expect(existsSync(ran)).toBe(true)
})

test('an older git fetches nothing for a partial clone, however its repository says to fetch', async () => {
  newRepository()
  commit('leak', { a: mint('prod'), b: 'b' })
  const missing = git('rev-parse', 'HEAD:b')
  rmSync(join(folder, 'shop/.git/objects', missing.slice(0, 2), missing.slice(2)))
  const ran = join(folder, 'ran')
  git('config', 'core.repositoryFormatVersion', '1')
  git('config', 'extensions.partialClone', 'origin')
  git('config', 'remote.origin.promisor', 'true')
  git('config', 'remote.origin.url', `ext::touch ${ran.replaceAll(' ', '% ')}`)
  git('config', 'protocol.ext.allow', 'always')
  const installed = execFileSync('which', ['git'], { encoding: 'utf8' }).trim()
  write('old/git', `#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec '${installed}' "$@"\n`)
  chmodSync(join(folder, 'old/git'), 0o755)
  const env = { PATH: `${join(folder, 'old')}:${process.env.PATH}` }
  const { code, err } = await scan(['--history', 'shop'], { env })
  expect([code, existsSync(ran)]).toEqual([2, false])
  expect(err).toContain("transport 'ext' not allowed")
  // It would have been run.
  expect(() => git('cat-file', '-p', missing)).toThrow()
  expect(existsSync(ran)).toBe(true)
})

test('a damaged repository is exit code 2', async () => {
  newRepository()
  const id = commit('begin', { a: 'a' })
  const object = join(folder, 'shop/.git/objects', id.slice(0, 2), id.slice(2))
  chmodSync(object, 0o600)
  writeFileSync(object, readFileSync(object).subarray(0, 20))
  const { code, err } = await scan(['--history', 'shop'])
  expect(err).toMatch(
    /^Git cannot read the history at shop \(.+\): name the folder of a whole clone that is yours\.\n$/,
  )
  expect(code).toBe(2)
})

test('the hook in the docs refuses a commit with a key, by what is staged', () => {
  const page = readFileSync('docs/operations.md', 'utf8')
  const hook = /^```sh\n(#!\/bin\/sh\n.*?)^```/ms.exec(page)?.[1] as string
  newRepository()
  write('shop/.git/hooks/pre-commit', hook.replace('node /opt/storekeeper', `${process.execPath} ${repository}`))
  chmodSync(join(folder, 'shop/.git/hooks/pre-commit'), 0o755)
  commit('clean', { 'a.txt': 'a' })
  const token = mint('prod')
  const refused = () => {
    try {
      commit('key', { 'b c/d.txt': `\n${token}` })
      return ''
    } catch (error) {
      return String((error as { stderr: string }).stderr)
    }
  }
  expect(refused()).toContain(`b c/d.txt:2:1  prod  ${shown(token)}\n1 found in 1 file`)
  expect(git('log', '--format=%s')).toBe('clean')
  // It is staged still, though the file no longer has it.
  write('shop/b c/d.txt', 'clean')
  expect(() => git('commit', '--quiet', '-m', 'staged')).toThrow()
  commit('mended', { 'b c/d.txt': 'clean' })
  expect(git('log', '--format=%s')).toBe('mended\nclean')
})
