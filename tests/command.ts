// A command called inside the test: its arguments, input, settings and folder are given, its output and exit code come back.

import { Readable, Writable } from 'node:stream'
import type { Io } from '../src/cli/io.ts'

type Run = (argv: string[], io: Io) => Promise<number>
type World = { env?: Record<string, string>; input?: string | Buffer; cwd?: string }

export async function call(run: Run, argv: string[], { env = {}, input = '', cwd = process.cwd() }: World = {}) {
  let [out, err] = ['', '']
  const bytes: Buffer[] = []
  const print = (line: string) => void (out += `${line}\n`)
  const say = (line: string) => void (err += `${line}\n`)
  const code = await run(argv, {
    print,
    say,
    stdout: new Writable({ write: (part, _, done) => done(void bytes.push(part)) }),
    stderr: { write: (text) => void (err += text) },
    stdin: Readable.from(pieces(Buffer.from(input))),
    env: { PATH: process.env.PATH, ...env },
    cwd,
    interruptFlag: () => ({ raised: false, close: () => {} }),
  })
  return { code, out, err, bytes: Buffer.concat(bytes), lines: out.split('\n').slice(0, -1) }
}

/** As a pipe brings them. */
function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024)
}
