// "It builds itself": bin/ beside a few files of source, in a checkout of its own, as it is after a clone, after a pull,
// with an error in the source, and in an installation without the compiler.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'

const repository = join(import.meta.dirname, '..')

test('a start builds what has changed, also beside another one, and never runs half a build', async () => {
  const { run, write } = checkout()
  const built = (word: string) => ({ code: 0, out: `${word}\n`, err: 'Building …\n' })
  // Fresh from a clone, two at once: whichever has built, both of them run.
  for (const { code, out } of await Promise.all(['start.js', 'start.js'].map((script) => run(script))))
    expect([code, out]).toEqual([0, 'first\n'])
  expect(await run('start.js')).toEqual({ code: 0, out: 'first\n', err: '' })
  expect((await run('storekeeper.js', 'help')).out).toBe('operator\n')
  expect(await run('skp.js', 'scan', '.')).toEqual({ code: 0, out: 'user first\n', err: '' })
  expect(await run('storekeeper.js', 'scan', '.')).toEqual({
    code: 0,
    out: 'user first\n',
    err: '"storekeeper scan" is now "skp scan".\n',
  })

  // After a pull, and after one that breaks it.
  write('src/word.ts', `export const word: string = 'second'\n`)
  expect(await run('start.js')).toEqual(built('second'))
  write('src/word.ts', `export const word: number = 'third'\n`)
  for (let i = 0; i < 2; i++) {
    const broken = await run('start.js')
    expect([broken.code, broken.out]).toEqual([1, ''])
    expect(broken.err).toContain('The build failed.')
  }
  expect((await run('skp.js', 'scan', '.')).code).toBe(2)
})

test('without the compiler a build that is there runs, and without both a command says what to do', async () => {
  const { path, run, write, prepare } = checkout()
  rmSync(join(path, 'node_modules'))
  const codes = { 'scan .': 2, 'events verify events.jsonl': 2, help: 1 }
  for (const [words, code] of Object.entries(codes))
    expect({ words, ...(await run('storekeeper.js', ...words.split(' '))) }).toEqual({
      words,
      code,
      out: '',
      err: expect.stringMatching(
        /^(".+" is now "skp scan"\.\n)?There is no build in dist\/.* Run "npm ci", .* "npm prune --omit=dev" .*\n$/,
      ),
    })
  // What `npm ci --omit=dev` does in the end.
  expect(await prepare()).toEqual({ code: 0, out: '', err: '' })
  symlinkSync(join(repository, 'node_modules'), join(path, 'node_modules'))
  expect(await prepare()).toEqual({ code: 0, out: '', err: 'Building …\n' })
  rmSync(join(path, 'node_modules'))
  write('src/word.ts', `export const word: string = 'second'\n`)
  expect(await run('start.js')).toEqual({ code: 0, out: 'first\n', err: '' })
  expect(readdirSync(path).filter((name) => name.startsWith('dist'))).toEqual(['dist'])
})

/** What a clone holds as far as the build sees it, with the installed packages. */
function checkout() {
  const path = mkdtempSync(join(tmpdir(), 'storekeeper-build-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const write = (name: string, content: string) => {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), content)
  }
  for (const name of [
    'bin',
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'packages/client/tsconfig.build.json',
    'packages/cli/vite.config.ts',
    'packages/cli/bin',
  ])
    cpSync(join(repository, name), join(path, name), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(path, 'node_modules'))
  write('src/word.ts', `export const word: string = 'first'\n`)
  write('src/main.ts', `import { word } from './word.ts'\n\nconsole.log(word)\n`)
  write('src/cli/main.ts', `console.log('operator')\nexport {}\n`)
  write('packages/client/src/index.ts', 'export {}\n')
  write('packages/cli/src/main.ts', `import { word } from '../../../src/word.ts'\n\nconsole.log('user', word)\n`)
  const run = (script: string, ...args: string[]) =>
    ended(spawn(process.execPath, [join('bin', script), ...args], { cwd: path }))
  const { prepare } = JSON.parse(readFileSync('package.json', 'utf8')).scripts
  return { path, run, write, prepare: () => ended(spawn(prepare, { cwd: path, shell: true })) }
}

async function ended(child: ChildProcessWithoutNullStreams) {
  const end = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), end])
  return { code, out, err }
}
