// What runs on this machine. On Linux it is read from /proc: tests look every few milliseconds, and a ps each time would be
// most of what they cost.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

type Process = { pid: number; parent: number; command: string }

/** All that are alive: one that has ended and waits for its parent to hear of it is not among them. */
export function listProcesses(): Process[] {
  return existsSync('/proc/self/stat') ? fromProc() : fromPs()
}

function fromProc(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        // The name of the program, in parentheses, may hold anything.
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), command }]
      } catch {
        return [] // It ended while we looked.
      }
    })
}

function fromPs(): Process[] {
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,ppid=,stat=,command='], { encoding: 'utf8' })
  return [...lines.matchAll(/^\s*(\d+)\s+(\d+)\s+([^Z\s]\S*)\s+(.*)$/gm)].map(([, pid, parent, , command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }))
}

export function isAlive(pid: number): boolean {
  return listProcesses().some((each) => each.pid === pid)
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
