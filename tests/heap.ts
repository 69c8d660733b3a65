// What stays in memory: the heap of this process after a full garbage collection.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

export function heapMb(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1e6
}
