// The examples of docs/guides/require-keys.md, each saved under its name and run by plain Node.js against a service.

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ask } from './adapter-servers.ts'
import { freePort } from './free-port.ts'
import { NEW_KEY, shop } from './shop.ts'

const page = readFileSync('docs/guides/require-keys.md', 'utf8')
const examples = new Map(
  [...page.matchAll(/`([\w.-]+\.mjs)`:\n\n```js\n(.*?)^```$/gms)].map(([, name, code]) => [
    name as string,
    code as string,
  ]),
)
/** On the sources of the client, not on what was built last. */
const FROM_SOURCE = [
  '--conditions=source',
  '--import',
  pathToFileURL(resolve('node_modules/tsx/dist/esm/index.mjs')).href,
]

test('the example for each framework lets in a key, and refuses it once it is revoked', async () => {
  expect([...examples.keys()]).toEqual([
    'express.mjs',
    'fastify.mjs',
    'hono.mjs',
    'koa.mjs',
    'web.mjs',
    'products.test.mjs',
  ])
  expect(examples.get('express.mjs')?.trimEnd().split('\n').length).toBeLessThanOrEqual(12)
  const { api, owner, keys, serviceToken } = await shop()
  const { id, key } = (await api.post(keys, NEW_KEY, { as: owner.token })).body
  const weak = (await api.post(keys, { ...NEW_KEY, permissions: ['WRITE'] }, { as: owner.token })).body
  const folder = mkdtempSync(join(tmpdir(), 'storekeeper-guide-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const env = { ...process.env, STOREKEEPER_URL: api.url, STOREKEEPER_TOKEN: await serviceToken(), NODE_OPTIONS: '' }
  const run = (file: string) =>
    spawn(process.execPath, [...FROM_SOURCE, file], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })

  const servers = await Promise.all(
    [...examples]
      .filter(([name]) => name !== 'products.test.mjs')
      .map(async ([name, code]) => {
        const port = await freePort()
        const isHandler = name === 'web.mjs'
        writeFileSync(join(folder, name), code.replace(/\b401\d\b/, String(port)))
        // As the runtimes of the web standard serve what a file exports.
        if (isHandler)
          writeFileSync(
            join(folder, 'serve.mjs'),
            `import { serve } from '@hono/node-server'\nimport handler from './web.mjs'\nserve({ ...handler, port: ${port} })`,
          )
        const child = run(isHandler ? 'serve.mjs' : name)
        onTestFinished(() => void child.kill('SIGKILL'))
        return { name, url: `http://127.0.0.1:${port}/products`, child }
      }),
  )
  const tested = new Promise((done) => {
    writeFileSync(join(folder, 'products.test.mjs'), examples.get('products.test.mjs') as string)
    run('products.test.mjs').once('close', done)
  })
  const statusOf = async (url: string, token: string) =>
    (await ask(url, token ? { authorization: `Bearer ${token}` } : {})).status
  for (const { name, url, child } of servers) {
    await expect
      .poll(() => (child.exitCode === null ? statusOf(url, '').catch(String) : 'ended'), {
        interval: 100,
        message: name,
      })
      .toBe(401)
    expect([name, (await ask(url, { authorization: `Bearer ${key}` })).body]).toEqual([
      name,
      { products: [], for: NEW_KEY.name },
    ])
    expect([name, await statusOf(url, weak.key)]).toEqual([name, 403])
  }
  await api.delete(`${keys}/${id}`, { as: owner.token })
  for (const { name, url } of servers)
    await expect.poll(() => statusOf(url, key), { interval: 50, message: name }).toBe(401)
  expect(await tested).toBe(0)
})
