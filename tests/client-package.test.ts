// The client as others get it: packed, installed in an empty folder, imported and required by plain Node.js.

import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import packageJson from '../packages/client/package.json' with { type: 'json' }
import { faultyServer, json, lost } from './faulty-server.ts'

/** Without the settings of the npm that runs the tests. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
const COMPILER = resolve('node_modules/typescript/bin/tsc')

test('the packed client works in an empty folder, by import and by require, and lets the process end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'storekeeper-client-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [made, empty] = [join(folder, 'made'), join(folder, 'empty')]
  for (const path of [made, empty]) mkdirSync(path)
  const project = resolve('packages/client/tsconfig.build.json')
  succeed(process.execPath, [COMPILER, '-p', project, '--outDir', join(made, 'dist')], folder)
  copyFileSync('packages/client/package.json', join(made, 'package.json'))
  succeed('npm', ['pack', '--pack-destination', folder], made)
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  writeFileSync(join(empty, 'package.json'), '{ "private": true }')
  succeed('npm', ['install', '--offline', '--no-audit', '--no-fund', join('..', tarball as string)], empty)
  const installed = join(empty, 'node_modules/@storekeeper/client')
  expect(readdirSync(join(empty, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@storekeeper'])
  for (const { default: path } of Object.values(packageJson.exports))
    if (existsSync(join('packages/client', path.replace('./dist', 'src').replace(/\.js$/, '.ts'))))
      expect(existsSync(join(installed, path)), path).toBe(true)

  const { url, seen } = await faultyServer(lost, json(200, { valid: true, code: 'VALID' }))
  const uses = `
    const sk = storekeeper({ url: ${JSON.stringify(url)}, token: 't' })
    sk.keys.verify({ key: 'k' }).then(({ code }) => console.log(code, typeof readWebhook))`
  writeFileSync(
    join(empty, 'use.mjs'),
    `import { storekeeper } from '@storekeeper/client'\nimport { readWebhook } from '@storekeeper/client/webhooks'\n${uses}`,
  )
  writeFileSync(
    join(empty, 'use.cjs'),
    `const { storekeeper } = require('@storekeeper/client')\nconst { readWebhook } = require('@storekeeper/client/webhooks')\n${uses}`,
  )
  // The connection to the service stays open for the next call, and the client is not closed: still the process ends.
  for (const file of ['use.mjs', 'use.cjs'])
    expect(await node([file], empty), file).toEqual({ status: 0, out: 'VALID function\n', err: '' })
  expect(seen).toHaveLength(3)

  // Its types need neither ours nor those of Node.js.
  writeFileSync(
    join(empty, 'use.mts'),
    `import { isStorekeeperError, storekeeper } from '@storekeeper/client'
     import { readWebhook } from '@storekeeper/client/webhooks'
     const sk = storekeeper({ url: 'http://x', storeId: 'store_1' })
     const names: string[] = (await sk.store().keys.list().toArray({ max: 5 })).map(({ name }) => name)
     export { isStorekeeperError, names, readWebhook }`,
  )
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--types', '', '--skipLibCheck', 'false']
  const lib = ['--lib', 'es2023,dom', '--target', 'es2023', '--module', 'nodenext']
  succeed(process.execPath, [COMPILER, ...strict, ...lib, 'use.mts'], empty)
})

function succeed(command: string, args: string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  expect({ status, said: status === 0 ? '' : stdout + stderr }, args.join(' ')).toEqual({ status: 0, said: '' })
}

async function node(args: string[], cwd: string) {
  const child = spawn(process.execPath, args, { cwd, env })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  const status = await new Promise((done) => child.once('close', done))
  return { status, out, err }
}
