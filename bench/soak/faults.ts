// What is done to the nodes and the database at random moments.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../tests/random.ts'
import { type Cluster, kill, serverPids } from '../stress/failover/cluster.ts'
import type { Soak } from './key-operations.ts'
import { childrenOf, type Nodes } from './nodes.ts'

const STALL_MS = 5_000

type Fault = (cluster: Cluster, nodes: Nodes, random: Random) => Promise<void>

const FAULTS: Record<string, Fault> = {
  'SIGKILL of a worker': async (_cluster, { killed }, random) => {
    kill(random.pick(childrenOf(killed.pid())), 'SIGKILL')
  },
  'SIGKILL of a node': async (_cluster, { killed }) => {
    killed.kill()
    await sleep(2_000)
    await killed.start()
  },
  SIGHUP: async (_cluster, { killed }) => kill(killed.pid(), 'SIGHUP'),
  'SIGSTOP of a node': async (_cluster, { lasting }) => {
    kill(lasting.pid(), 'SIGSTOP')
    await sleep(STALL_MS)
    kill(lasting.pid(), 'SIGCONT')
  },
  switchover: async (cluster) => {
    await cluster.switchover()
    await sleep(2_000)
    await cluster.whole()
  },
  'SIGKILL of the primary': async (cluster) => {
    const { dataDir } = await cluster.leader()
    for (const pid of serverPids(dataDir)) kill(pid, 'SIGKILL')
    await sleep(2_000)
    await cluster.whole()
  },
}
const ON_DATABASE = ['switchover', 'SIGKILL of the primary']

export type Faults = { done: Record<string, number>; stop(): Promise<void> }

/** One every `everyMs` on average; each kind before any comes again. */
export function startFaults(
  soak: Soak,
  { cluster, nodes, random }: { cluster: Cluster; nodes: Nodes; random: Random },
  everyMs: number,
  log: (line: string) => void,
): Faults {
  const done: Record<string, number> = {}
  const stopping = new AbortController()
  let due: string[] = []
  const loop = async () => {
    for (;;) {
      await sleep(everyMs * (0.5 + random.next()), null, { signal: stopping.signal })
      if (due.length === 0) due = Object.keys(FAULTS)
      const kind = random.pick(due)
      due = due.filter((each) => each !== kind)
      log(kind)
      const began = performance.now()
      if (ON_DATABASE.includes(kind)) soak.resetAt = Number.POSITIVE_INFINITY
      await FAULTS[kind]?.(cluster, nodes, random).catch((error) => log(`${kind}: ${error.message}`))
      if (ON_DATABASE.includes(kind)) soak.resetAt = performance.now()
      done[kind] = (done[kind] ?? 0) + 1
      log(`${kind}: over after ${Math.round(performance.now() - began) / 1_000} s`)
    }
  }
  const running = loop().catch((error) => {
    if (!stopping.signal.aborted) log(`faults: ${error.message}`)
  })
  return {
    done,
    async stop() {
      stopping.abort()
      await running
    },
  }
}
