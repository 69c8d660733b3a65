// A command called inside the test: its arguments, input, settings and folder are given, its output and exit code come back.

import { Readable, Writable } from 'node:stream'
import { type UserIo, withUser } from '../packages/cli/src/io.ts'
import { textOutput } from '../src/cli/io.ts'

type Run = (argv: string[], io: UserIo) => Promise<number>
export type World = {
  env?: Record<string, string>
  input?: string | Buffer
  cwd?: string
  /** Somebody at a terminal, who gives these answers in turn. */
  answers?: string[]
  /** Whether the command writes to a terminal, so many columns wide. */
  columns?: number
  /** Called with each line of the result. */
  onPrint?: (line: string) => void
  /** Called with how to press Ctrl-C, once the command listens for it. */
  onListen?: (interrupt: () => void) => void
}

export async function call(run: Run, argv: string[], world: World = {}) {
  const { env = {}, input = '', cwd = process.cwd(), answers, columns, onPrint, onListen } = world
  let [out, err] = ['', '']
  const asked: { question: string; hidden: boolean }[] = []
  const print = (line: string) => {
    out += `${line}\n`
    onPrint?.(line)
  }
  const bytes: Buffer[] = []
  const isTTY = columns !== undefined
  const stdout = Object.assign(new Writable({ write: (part, _, done) => done(void bytes.push(part)) }), {
    isTTY,
    columns,
  })
  const io = {
    ...textOutput(print, { isTTY, write: (text) => void (err += text) }),
    stdout,
    stdin: Readable.from(pieces(Buffer.from(input))),
    env: { PATH: process.env.PATH, ...env },
    cwd,
    interruptFlag: () => ({ raised: false, close: () => {} }),
  }
  const user = withUser(io, {
    stdout,
    ask:
      answers === undefined
        ? null
        : async (question, { hidden = false } = {}) => {
            asked.push({ question, hidden })
            const answer = answers[asked.length - 1]
            if (answer === undefined) throw new Error(`Nobody answers "${question}"`)
            return answer
          },
    deliver: async (line) => print(line),
    onInterrupt: (handler) => {
      onListen?.(handler)
      return () => {}
    },
  })
  const code = await run(argv, user)
  return { code, out, err, asked, bytes: Buffer.concat(bytes), lines: out.split('\n').slice(0, -1) }
}

/** As a pipe brings them. */
function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024)
}
