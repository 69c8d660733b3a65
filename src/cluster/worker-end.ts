// The end of a worker, whatever went wrong before it.

import type { Worker } from 'node:cluster'

/**
 * Resolves with the exit code or the signal. Between a worker's death and its `exit`, a message to it fails, and the worker
 * emits `error`: the end is still to come. (`once` of node:events would reject with that error and never tell the end.)
 */
export function endOf(worker: Pick<Worker, 'on' | 'once'>): Promise<number | string> {
  worker.on('error', () => {})
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ?? code))
  })
}
