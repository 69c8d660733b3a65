// A user of skp: with a home folder, and commands called inside the test; and what may stand between them and the service.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import { run } from '../packages/cli/src/run.ts'
import { call, type World } from './command.ts'
import type { Shop } from './shop.ts'

export function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'skp-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A person with a home folder; with a shop, its owner, by the environment alone. */
export function user(world?: Shop, more: Record<string, string> = {}) {
  const home = newFolder()
  const signedIn = world
    ? { STOREKEEPER_URL: world.api.url, STOREKEEPER_TOKEN: world.owner.token, STOREKEEPER_STORE: world.store.id }
    : {}
  const env = { HOME: home, ...signedIn, ...more }
  const skp = (argv: string[], given: World = {}) =>
    call(run, argv, { cwd: home, ...given, env: { ...env, ...given.env } })
  const done = async (argv: string[], given: World = {}) => {
    const result = await skp(argv, given)
    expect({ argv, code: result.code, err: result.code === 0 ? '' : result.err }).toEqual({ argv, code: 0, err: '' })
    return result
  }
  return { home, skp, done, file: join(home, '.config/storekeeper/hosts.json') }
}

export async function newKey(done: ReturnType<typeof user>['done'], ...more: string[]) {
  const { out } = await done(['keys', 'create', 'Robot', '--type', 'TEST', '--permission', 'READ', '--json', ...more])
  return JSON.parse(out) as { id: string; key: string }
}

/** Before the service. `lose`: true, and the answer is lost; `held`, and it never comes. */
export async function relay(url: string, lose: (request: IncomingMessage) => boolean | 'held' | void) {
  const server = createServer((request, response) => void pass(request, response))
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const { host: _, connection: __, 'transfer-encoding': ___, ...headers } = request.headers
    const body = await text(request)
    const init = { method: request.method as string, headers: headers as Record<string, string> }
    const answer = await fetch(url + request.url, body ? { ...init, body } : init).catch(() => null)
    const fate = lose(request)
    if (fate === 'held') return
    if (fate || !answer) return void request.socket.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}` }
}
