// What a command of skp has of the world beside what every command has: whether its result is read by a person, somebody
// to ask, and an end before its time.

import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { onInterrupt } from '../../../src/cli/interrupt.ts'
import type { Io } from '../../../src/cli/io.ts'
import { plainLines } from '../../../src/cli/plain.ts'
import { Interrupted } from './errors.ts'

export type UserIo = Io & {
  stdout: { isTTY?: boolean | undefined; columns?: number | undefined }
  /** Null where nobody can answer: there a command never waits for an answer. */
  ask: Ask | null
  /** A line of the result that cannot be had again: settles once stdout has taken it, or has not. */
  deliver(line: string): Promise<void>
  /** Ctrl-C and SIGTERM, from here on until the function that is given back is called. */
  onInterrupt(handler: () => void): () => void
}

type Ask = (question: string, options?: { hidden?: boolean }) => Promise<string>

/** What the terminal of this process adds. */
export function atTerminal(io: Io): UserIo {
  const { stdin, stdout, stderr } = process
  return withUser(io, {
    stdout,
    ask: stdin.isTTY && stderr.isTTY ? ask : null,
    deliver: (line) =>
      new Promise((resolve, reject) => {
        stdout.write(`${line}\n`, (error) => (error ? reject(error) : resolve()))
      }),
    onInterrupt: (handler) => onInterrupt(handler, () => process.exit(130)),
  })
}

/** Questions and what is delivered are escaped like all other text, be it at a terminal or in a test. */
export function withUser(io: Io, user: Pick<UserIo, 'stdout' | 'ask' | 'deliver' | 'onInterrupt'>): UserIo {
  const { ask, deliver } = user
  return {
    ...io,
    ...user,
    ask: ask && ((question, options) => ask(plainLines(question), options)),
    deliver: (line) => deliver(plainLines(line)),
  }
}

/** The question goes to stderr, so that stdout is the result alone. What is hidden is not echoed. */
function ask(question: string, { hidden = false } = {}): Promise<string> {
  let isMuted = false
  const output = new Writable({
    write: (chunk, _, done) => {
      if (!isMuted) process.stderr.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  return new Promise((resolve, reject) => {
    const end = () => {
      lines.removeListener('close', giveUp)
      lines.close()
      if (hidden) process.stderr.write('\n')
    }
    const giveUp = () => {
      end()
      reject(new Interrupted())
    }
    lines.once('SIGINT', giveUp)
    lines.once('close', giveUp)
    lines.question(question, (answer) => {
      end()
      resolve(answer)
    })
    isMuted = hidden
  })
}
