// Databases that live as long as one test are kept in memory where there is room: making and removing hundreds of them is
// most of what a disk has to do in a run.

import { readFileSync, statfsSync } from 'node:fs'

const MEMORY_DISK = '/dev/shm'
const ENOUGH_BYTES = 6 * 2 ** 30

export function useMemoryDisk(): void {
  if (process.env.TMPDIR === undefined && isUsable()) process.env.TMPDIR = MEMORY_DISK
}

/** Programs are run from there too, which some mounts forbid. */
function isUsable(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY_DISK)
    const { bavail, bsize } = statfsSync(MEMORY_DISK)
    return mount !== undefined && !/\b(ro|noexec)\b/.test(mount.split(' ')[3] ?? '') && bavail * bsize > ENOUGH_BYTES
  } catch {
    return false
  }
}
