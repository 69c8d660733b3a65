// What runs on this machine, as ps tells it.

import { execFileSync } from 'node:child_process'

export function listProcesses(): { pid: number; parent: number; command: string }[] {
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,ppid=,command='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => {
    const [, pid, parent, command = ''] = line.match(/^\s*(\d+)\s+(\d+)\s+(.*)/) ?? []
    return { pid: Number(pid), parent: Number(parent), command }
  })
}

export function isAlive(pid: number): boolean {
  return listProcesses().some((each) => each.pid === pid && !each.command.includes('<defunct>'))
}

/** The servers below the folder. A child has its server's command line until it has got round to its own title. */
export function postmasters(path: string): number[] {
  const named = listProcesses().filter(({ command }) => command.includes(`/postgres -D ${path}`))
  const pids = named.map(({ pid }) => pid)
  return named.filter(({ parent }) => !pids.includes(parent)).map(({ pid }) => pid)
}

/** Servers below the folder, followed by their children. */
export function serverProcesses(path: string): number[] {
  const servers = postmasters(path)
  const children = listProcesses().filter(({ parent }) => servers.includes(parent))
  return [...servers, ...children.map(({ pid }) => pid)]
}
