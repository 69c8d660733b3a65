// Two nodes of the service as it was built when the soak began: one with two workers behind HAProxy, which is killed, and one
// with a list of hosts, which never is, so that its memory can be judged over the whole run.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listProcesses } from '../../tests/processes.ts'
import { type Cluster, freePorts, kill } from '../stress/failover/cluster.ts'

const FLAGS = ['--max-semi-space-size=16', '--heap-growing-percent=30']

export type Node = { name: string; url: string; pid(): number; start(): Promise<void>; kill(): void }
export type Nodes = { killed: Node; lasting: Node; command(args: string[], input?: string): string; close(): void }

export async function startNodes(cluster: Cluster, folder: string): Promise<Nodes> {
  const ports = await freePorts(2)
  const settings = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    SERVER_SECRET: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'off',
    MAX_KEYS_PER_STORE: '1000000',
    MAX_VERSIONS_PER_DAY: '1000000',
    WEBHOOK_ALLOW_PRIVATE: 'on',
    LOG_LEVEL: 'warn',
  }
  const log = openSync(join(folder, 'nodes.log'), 'a')
  const newNode = (name: string, port: number | undefined, more: Record<string, string>): Node => {
    const url = `http://127.0.0.1:${port}`
    let child: ChildProcess | null = null
    return {
      name,
      url,
      pid: () => child?.pid ?? 0,
      async start() {
        const env = { ...settings, ...more, PORT: String(port) }
        child = spawn(process.execPath, [...FLAGS, 'dist/main.js'], { env, stdio: ['ignore', log, log] })
        await untilReady(url)
      },
      kill() {
        const pid = child?.pid
        if (!pid) return
        for (const each of [pid, ...childrenOf(pid)]) kill(each, 'SIGKILL')
      },
    }
  }
  const killed = newNode('killed', ports[0], { DATABASE_URL: cluster.urls.proxy, WORKERS: '2' })
  const lasting = newNode('lasting', ports[1], { DATABASE_URL: cluster.urls.list })
  await lasting.start()
  await killed.start()
  return {
    killed,
    lasting,
    command(args, input = '') {
      const env = { ...settings, DATABASE_URL: cluster.urls.list }
      const options = { env, input, encoding: 'utf8', maxBuffer: 2 ** 30, stdio: 'pipe' } as const
      return execFileSync(process.execPath, ['dist/cli/main.js', ...args], options)
    },
    close() {
      killed.kill()
      lasting.kill()
    },
  }
}

export function childrenOf(pid: number): number[] {
  return listProcesses().flatMap((each) => (each.parent === pid ? [each.pid] : []))
}

async function untilReady(url: string): Promise<void> {
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(100)) {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.ok) return
  }
  throw new Error(`${url} is not ready after two minutes`)
}

export type ProcessSize = { name: string; pid: number; seconds: number; rssMb: number; descriptors: number }

/** Each process of a node, and how long it has lived. */
export function sizesOf({ name, pid }: Node): ProcessSize[] {
  return [pid(), ...childrenOf(pid())].flatMap((each, n) => {
    try {
      const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1]) / 1024
      const stat = readFileSync(`/proc/${each}/stat`, 'utf8')
      const startedAt = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]) / 100
      const uptime = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
      const descriptors = readdirSync(`/proc/${each}/fd`).length
      const role = n === 0 ? name : `${name}: worker`
      return [{ name: role, pid: each, seconds: Math.round(uptime - startedAt), rssMb: Math.round(rss), descriptors }]
    } catch {
      return [] // It ended while we looked.
    }
  })
}

/** The heap in use of the lasting node, in MB, by its own metrics. */
export async function heapOf({ url }: Node): Promise<number | null> {
  const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(10_000) }).then(
    (response) => response.text(),
    () => '',
  )
  const bytes = /^storekeeper_nodejs_heap_size_used_bytes (\S+)/m.exec(text)?.[1]
  return bytes ? Math.round(Number(bytes) / 2 ** 20) : null
}
