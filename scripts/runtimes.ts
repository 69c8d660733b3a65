// npm run test:runtimes: the client in Node.js, Bun, Deno and workerd, the runtime of Cloudflare Workers. npm fetches them,
// so it is not a part of the tests.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'

const folder = mkdtempSync(join(tmpdir(), 'storekeeper-runtimes-'))
const service = await standIn()
const failures: string[] = []
await bundle(
  'main.mjs',
  `import { smoke } from './runtime-smoke.ts'; console.log(await smoke(${JSON.stringify(service.url)}))`,
)
await bundle(
  'worker.mjs',
  `import { smoke } from './runtime-smoke.ts'
   export default { fetch: () => smoke(${JSON.stringify(service.url)}).then((it) => new Response(it), (error) => new Response(error.stack)) }`,
)
await report('node', () => run(process.execPath, ['main.mjs']))
await report('bun', () => run('npx', ['--yes', 'bun@1.4.4', 'main.mjs']))
await report('deno', () => run('npx', ['--yes', 'deno@2.9.5', 'run', '--allow-net', '--allow-env', 'main.mjs']))
await report('workerd', inWorkerd)
service.close()
rmSync(folder, { recursive: true })
if (failures.length > 0) process.exitCode = 1

async function report(runtime: string, work: () => Promise<string>): Promise<void> {
  const said = (await work().catch((error: Error) => error.message)).trim()
  if (said !== 'works') failures.push(runtime)
  process.stdout.write(`${runtime}: ${said}\n`)
}

/** A service that loses its first answer, has two pages of keys and an endless stream, and never answers a creation. */
async function standIn() {
  let asked = 0
  const json = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url as string, 'http://x')
    if (pathname === '/v1/keys/verify') {
      asked += 1
      if (asked % 2 === 1) response.destroy()
      else json(response, 200, { valid: true, code: 'VALID', keyId: 'key_1' })
    } else if (pathname.endsWith('/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const last = Number(String(request.headers['last-event-id']).slice('evt_'.length))
      response.write(`retry: 10\n\nid: evt_${last + 1}\ndata: {"id":"evt_${last + 1}"}\n\ndata: {`)
      setTimeout(() => response.destroy(), 50)
    } else if (pathname.endsWith('/keys') && request.method === 'GET') {
      const isFirst = searchParams.get('cursor') === null
      json(response, 200, { data: [{ name: isFirst ? 'a' : 'b' }], nextCursor: isFirst ? 'next' : null })
    } else if (request.method === 'GET') json(response, 404, { code: 'key_not_found', title: 'Key not found' })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

async function bundle(name: string, contents: string): Promise<void> {
  await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    outfile: join(folder, name),
    conditions: ['source'],
    bundle: true,
    format: 'esm',
    logLevel: 'error',
  })
}

async function run(command: string, args: string[]): Promise<string> {
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return out || err
}

async function inWorkerd(): Promise<string> {
  const port = await freePort()
  writeFileSync(
    join(folder, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "network", network = (allow = ["private", "public"]))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-01-01",
  globalOutbound = "network"
);`,
  )
  const child = spawn('npx', ['--yes', 'workerd@1.20261104.1', 'serve', 'config.capnp'], {
    cwd: folder,
    detached: true,
  })
  let err = ''
  child.stderr.on('data', (chunk) => (err += chunk))
  try {
    for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
      const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null)
      if (answer) return await answer.text()
      await sleep(200)
    }
    return `did not start: ${err}`
  } finally {
    // With the process that npx has started.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid)
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
