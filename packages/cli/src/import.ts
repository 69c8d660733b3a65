// Imports: lines of JSON from a file or from stdin, sent a few hundred at a time. What was sent before is found again by
// the service, so that an import that was cut off can simply go on.

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { KeyedOptions } from '@storekeeper/client'
import { isStorekeeperError } from '@storekeeper/client'
import type { Command } from 'commander'
import { callerPath } from '../../../src/cli/io.ts'
import { plain } from '../../../src/cli/plain.ts'
import { EXIT, UsageError } from './errors.ts'
import { count, newProgress } from './progress.ts'
import type { App, Session } from './session.ts'
import { parseCount } from './values.ts'

/** Of one request: fewer than the service takes, also with 50 addresses in each line, so that progress shows. */
const [MAX_LINES, MAX_BYTES] = [100, 1024 * 1024]
const TIMEOUT_MS = 60_000

export type ImportOptions = { skip?: number; json?: true }

export function importOptions(command: Command): Command {
  return command
    .argument('[file]', 'lines of JSON; "-" or nothing is stdin')
    .option('--skip <count>', 'leave out so many lines at the beginning: they were imported before', parseCount)
}

type Result = {
  id?: string | null | undefined
  status: string
  errors?: ReadonlyArray<{ pointer: string; code: string; detail: string }> | undefined
}
type Batch = { line: number; text: string }[]

export async function importLines<Line>(
  app: App,
  { io, out, signal }: Session,
  file: string,
  { skip = 0 }: ImportOptions,
  send: (lines: Line[], options: KeyedOptions) => Promise<Result[]>,
): Promise<void> {
  const progress = newProgress(io)
  const counts = new Map<string, number>()
  let done = skip
  const summary = () =>
    [...counts].map(([status, total]) => `${count(total)} ${status}`).join(', ') || 'nothing to import'
  try {
    for await (const batch of batchesOf(linesOf(io, file), skip)) {
      const lines = batch.map(parseLine) as Line[]
      const results = await send(lines, { signal, timeout: TIMEOUT_MS })
      progress.clear()
      results.forEach((result, n) => {
        const { line } = batch[n] as Batch[number]
        counts.set(result.status, (counts.get(result.status) ?? 0) + 1)
        if (out.json) out.printJson({ line, ...result }, { isLine: true })
        else if (result.status === 'failed') for (const fault of result.errors ?? []) io.print(faultLine(line, fault))
      })
      done = batch.at(-1)?.line ?? done
      progress.show(`${count(done)} lines: ${summary()} …`)
    }
  } catch (error) {
    progress.clear()
    if (isStorekeeperError(error) || error instanceof UsageError)
      io.say(`Imported up to line ${done}: ${summary()}. To go on from there: --skip ${done}`)
    throw error
  }
  progress.clear()
  io.say(`${count(done - skip)} lines: ${summary()}.`)
  if (counts.has('failed')) app.exitCode = EXIT.refused
}

/** The pointer leads into a request of many lines; which of them it was is said before. */
function faultLine(line: number, { pointer, code, detail }: { pointer: string; code: string; detail: string }): string {
  return [`line ${line}`, pointer.replace(/^#\/\w+\/\d+/, '#'), code, detail].map(plain).join('\t')
}

function parseLine({ line, text }: Batch[number]): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Without the text: it may hold a key.
    throw new UsageError(`Line ${line} is not JSON. Each line is one object.`)
  }
}

async function* linesOf(io: Session['io'], file: string): AsyncGenerator<string> {
  const input = file === '-' ? Readable.from(io.stdin) : createReadStream(callerPath(io, file))
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    throw new UsageError(`${file} could not be read: ${(error as Error).message}`)
  }
}

async function* batchesOf(lines: AsyncIterable<string>, skip: number): AsyncGenerator<Batch> {
  let batch: Batch = []
  let [line, bytes] = [0, 0]
  for await (const text of lines) {
    line += 1
    if (line <= skip || text.trim() === '') continue
    if (batch.length === MAX_LINES || (batch.length > 0 && bytes + text.length > MAX_BYTES)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push({ line, text })
    bytes += text.length
  }
  if (batch.length > 0) yield batch
}
