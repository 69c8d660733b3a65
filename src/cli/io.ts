// What a command has of the world: its output, its input, the settings, the folder it was called in, and Ctrl-C. At the
// terminal all of this is the process; a test gives its own, so that a command runs inside the test. It needs nothing
// but Node, so packages/cli has it too.

import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { type InterruptFlag, interruptFlag } from './interrupt.ts'

export type Io = {
  /** A line of the command's result, on stdout. */
  print(line: string): void
  /** For a result that is not lines of text. */
  stdout: Writable
  /** A line for a person to read, on stderr. */
  say(line: string): void
  /** For a line of progress, which is written anew. */
  stderr: { isTTY?: boolean; write(text: string): unknown }
  stdin: AsyncIterable<Buffer>
  env: Record<string, string | undefined>
  /** The folder that the caller is in. */
  cwd: string
  /** From here on Ctrl-C only raises the flag, until it is closed. */
  interruptFlag(): InterruptFlag
}

/** Stdout cannot be written to: its reader has gone, or the disk is full. */
export class OutputError extends Error {
  readonly exitCode: number

  constructor({ message, code }: NodeJS.ErrnoException) {
    super(message)
    // A reader may have seen enough (`… | head`). For `scan` that is 1, since something was found.
    this.exitCode = code === 'EPIPE' ? 1 : 2
  }
}

/** Runs a command with the streams of this process, and leaves its exit code to the process. */
export async function runAtTerminal(run: (argv: string[], io: Io) => Promise<number>): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  // The command ends in order, at the next line it prints: a database that was started for it is stopped.
  let failed: OutputError | null = null
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!failed && error.code !== 'EPIPE') say(`What this command printed could not be written: ${error.message}`)
    failed ??= new OutputError(error)
    process.exitCode = failed.exitCode
  })
  const print = (line: string) => {
    if (failed) throw failed
    process.stdout.write(`${line}\n`)
  }
  const { stdout, stderr, stdin, env } = process
  const io = { print, say, stdout, stderr, stdin, env, cwd: callerFolder(), interruptFlag }
  const code = await run(process.argv.slice(2), io)
  process.exitCode = (failed as OutputError | null)?.exitCode ?? code
}

/** npm runs a script in the folder of its package, and tells in INIT_CWD where its caller is. */
function callerFolder(): string {
  const { npm_lifecycle_event, npm_package_name, INIT_CWD } = process.env
  const byNpm = ['storekeeper', 'skp'].includes(npm_lifecycle_event ?? '') && npm_package_name === 'storekeeper'
  return byNpm && INIT_CWD ? INIT_CWD : process.cwd()
}

/** A path as the caller has written it. */
export function callerPath({ cwd }: Pick<Io, 'cwd'>, given: string): string {
  return resolve(cwd, given)
}
