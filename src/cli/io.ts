// What a command has of the world: its output, its input, the settings, the folder it was called in, and Ctrl-C. At the
// terminal all of this is the process; a test gives its own, so that a command runs inside the test. It needs nothing
// but Node, so packages/cli has it too.

import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { type InterruptFlag, interruptFlag } from './interrupt.ts'
import { plainLines } from './plain.ts'

export type Io = {
  /** A line of the command's result, on stdout. What a terminal would obey is escaped. */
  print(line: string): void
  /** The same without escaping: for our own colours, and for lines that a program compares byte for byte. */
  printAsIs(line: string): void
  /** For a result that is not lines of text. */
  stdout: Writable & { isTTY?: boolean | undefined }
  /** A line for a person to read, on stderr. What a terminal would obey is escaped, as in all text there. */
  say(line: string): void
  /** For a line of progress, which is cleared and written anew. */
  stderr: { isTTY?: boolean | undefined; write(text: string): void; clearLine(): void }
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

/** All text that a command writes goes through here, be it to the streams of the process or to those of a test. */
export function textOutput(
  printAsIs: (line: string) => void,
  stderr: { isTTY?: boolean | undefined; write(text: string): unknown },
): Pick<Io, 'print' | 'printAsIs' | 'say' | 'stderr'> {
  const write = (text: string) => void stderr.write(plainLines(text))
  return {
    print: (line) => printAsIs(plainLines(line)),
    printAsIs,
    say: (line) => write(`${line}\n`),
    stderr: { isTTY: stderr.isTTY, write, clearLine: () => void stderr.write('\r\x1b[K') },
  }
}

/** Runs a command with the streams of this process, and leaves its exit code to the process. */
export async function runAtTerminal(run: (argv: string[], io: Io) => Promise<number>): Promise<void> {
  const { stdout, stderr, stdin, env } = process
  // The command ends in order, at the next line it prints: a database that was started for it is stopped.
  let failed: OutputError | null = null
  const output = textOutput((line) => {
    if (failed) throw failed
    stdout.write(`${line}\n`)
  }, stderr)
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!failed && error.code !== 'EPIPE')
      output.say(`What this command printed could not be written: ${error.message}`)
    failed ??= new OutputError(error)
    process.exitCode = failed.exitCode
  })
  const io = { ...output, stdout, stdin, env, cwd: callerFolder(), interruptFlag }
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
