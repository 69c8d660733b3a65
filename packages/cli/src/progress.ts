// The line of progress of long work: on stderr, written anew on a terminal, now and then in a log.

import type { UserIo } from './io.ts'

const TERMINAL_MS = 100
const LOG_MS = 5_000

export type Progress = { show(line: string): void; clear(): void }

export function newProgress({ stderr }: Pick<UserIo, 'stderr'>): Progress {
  let next = stderr.isTTY ? 0 : performance.now() + LOG_MS
  let isShown = false
  const clear = () => {
    if (isShown) stderr.clearLine()
    isShown = false
  }
  return {
    clear,
    show: (line) => {
      const at = performance.now()
      if (at < next) return
      next = at + (stderr.isTTY ? TERMINAL_MS : LOG_MS)
      clear()
      stderr.write(stderr.isTTY ? line : `${line}\n`)
      isShown = stderr.isTTY === true
    },
  }
}

export function count(value: number): string {
  return value.toLocaleString('en')
}
