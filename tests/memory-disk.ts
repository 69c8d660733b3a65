// Databases that live as long as one test are kept in memory where there is room: making and removing hundreds of them is
// most of what a disk has to do in a run.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY_DISK = '/dev/shm'
/** A whole run fills seven gigabytes. */
const ENOUGH_BYTES = 10 * 2 ** 30

export function useMemoryDisk(): void {
  if (process.env.TMPDIR !== undefined) return
  removeLeftBehind(MEMORY_DISK)
  if (isUsable()) process.env.TMPDIR = MEMORY_DISK
}

/** For the databases of this run. Should the run be killed, the next one removes it. */
export const runFolder = (): string => mkdtempSync(join(tmpdir(), `storekeeper-test-${process.pid}-`))

/** The folders of runs that were killed: they would fill the memory of all that follow. */
function removeLeftBehind(disk: string): void {
  for (const name of existsSync(disk) ? readdirSync(disk) : []) {
    const pid = Number(/^storekeeper-test-(\d+)-/.exec(name)?.[1] ?? process.pid)
    if (!isRunning(pid)) rmSync(join(disk, name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Programs are run from there too, which some mounts forbid. */
function isUsable(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY_DISK)
    const { bavail, bsize } = statfsSync(MEMORY_DISK)
    const isEnough = Math.min(bavail * bsize, freemem()) > ENOUGH_BYTES
    return mount !== undefined && !/\b(ro|noexec)\b/.test(mount.split(' ')[3] ?? '') && isEnough
  } catch {
    return false
  }
}
