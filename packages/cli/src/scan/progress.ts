// How far a scan has come: the line of progress, the warnings and the summary, all of them on stderr.

import { setImmediate } from 'node:timers/promises'
import type { Io } from '../../../../src/cli/io.ts'

/** Quick scans say nothing before their end. */
const QUIET_MS = 1_000
const TERMINAL_MS = 100
const LOG_MS = 5_000
/** How often the event loop gets its turn: only there can a reader of stdout be noticed who has gone. */
const TURN_MS = 50
const WARNINGS_SHOWN = 20

export type Progress = ReturnType<typeof newProgress>

export function newProgress(stderr: Io['stderr'], noun: string) {
  const began = performance.now()
  let nextLine = began + QUIET_MS
  let nextTurn = began + TURN_MS
  let lineShown = false
  let read = 0
  let bytes = 0
  let found = 0
  let unread = 0

  const clear = () => {
    if (lineShown) stderr.clearLine()
    lineShown = false
  }
  const say = (line: string) => {
    clear()
    stderr.write(`${line}\n`)
  }
  const sofar = (at: number) =>
    `${count(found)} found in ${count(read)} ${read === 1 ? noun : `${noun}s`}, ${size(bytes)}, ${seconds(at - began)}`

  const show = (at: number) => {
    nextLine = at + (stderr.isTTY ? TERMINAL_MS : LOG_MS)
    if (!stderr.isTTY) return say(`${sofar(at)} …`)
    clear()
    stderr.write(`${sofar(at)} …`)
    lineShown = true
  }

  return {
    /** Before anything is printed: on a terminal the line of progress may stand where it would go. */
    clear,
    say,
    readBytes(more: number): void {
      bytes += more
    },
    readOne(): void {
      read++
    },
    foundOne(): void {
      found++
    },
    couldNotRead(what: string): void {
      unread++
      if (unread <= WARNINGS_SHOWN) say(`Could not read ${what}`)
      if (unread === WARNINGS_SHOWN) say('Further unreadable files are counted but not listed.')
    },
    /** Called often. Now and then it shows progress, and now and then gives a promise to wait for. */
    turn(): Promise<unknown> | null {
      const at = performance.now()
      if (at >= nextLine) show(at)
      if (at < nextTurn) return null
      nextTurn = at + TURN_MS
      return setImmediate()
    },
    foundAny: () => found > 0,
    summary(): void {
      const missed = unread > 0 ? `; ${count(unread)} could not be read` : ''
      say(`${sofar(performance.now())}${missed}`)
    },
  }
}

/** `toLocaleString` would load its tables first, which takes longer than a small scan. */
function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3))
  const value = bytes / 1000 ** step
  return `${step === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[step]}`
}

function seconds(ms: number): string {
  return `${ms < 1000 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s`
}
