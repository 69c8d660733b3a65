// Copies of the verifier's machine, each without one of its rules: the schedules have to find every one of them out.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { MachineFunctions } from './client.ts'

const FOLDER = join(import.meta.dirname, '../../packages/client/src/verify')

/** `is` stands once in the file. `isSubtle`: what it changes is too rare for schedules, and is shown by an example. */
export type Mutant = { rule: string; file: 'machine.ts' | 'memory.ts'; is: string; becomes: string; isSubtle?: true }

export const MUTANTS: Mutant[] = [
  {
    rule: '1: only the clock that may stand still',
    file: 'memory.ts',
    is: 'if (mono - heard.mono < trustMs && wall - heard.wall < trustMs &&',
    becomes: 'if (mono - heard.mono < trustMs &&',
  },
  {
    rule: '1: only the clock that may be set',
    file: 'memory.ts',
    is: 'if (mono - heard.mono < trustMs && wall - heard.wall < trustMs &&',
    becomes: 'if (wall - heard.wall < trustMs &&',
  },
  {
    rule: '1: an answer ages by the clock that may stand still',
    file: 'memory.ts',
    is: 'return mono - entry.asOfMono < trustMs && wall - entry.asOfWall < trustMs',
    becomes: 'return mono - entry.asOfMono < trustMs',
  },
  {
    rule: '2: fresh by arrival',
    file: 'machine.ts',
    is: 'const heard = { mono: sent.mono + since, wall: sent.wall + since }',
    becomes: 'const heard = { ...now }',
  },
  {
    rule: '2: clocks of the same speed',
    file: 'machine.ts',
    is: 'heardUpTo - at - DRIFT * Math.abs(heardUpTo - at)',
    becomes: 'heardUpTo - at',
    isSubtle: true,
  },
  {
    rule: '2: counted from the arrival of hello',
    file: 'machine.ts',
    is: '  stream.at = at\n',
    becomes: '  stream.at = at\n  stream.sent = now\n',
  },
  {
    rule: '3: every stream resumes',
    file: 'machine.ts',
    is: 'stream.back > 0 && from <= at - stream.back && elapsed(stream.sent, now) <= TRAVEL_MS',
    becomes: 'machine.coveredSince < now.mono',
  },
  {
    rule: '3: what the node can repeat is not looked at',
    file: 'machine.ts',
    is: ' && from <= at - stream.back',
    becomes: '',
  },
  {
    rule: '3: the travel of the request is not looked at',
    file: 'machine.ts',
    is: ' && elapsed(stream.sent, now) <= TRAVEL_MS',
    becomes: '',
  },
  {
    rule: '3: the travel of the request is not asked for',
    file: 'machine.ts',
    is: 'elapsed(machine.heard, now) + TRAVEL_MS + ROUNDING_MS',
    becomes: 'elapsed(machine.heard, now) + 1',
  },
  {
    rule: '3: covered since the sending',
    file: 'machine.ts',
    is: 'else {\n    machine.coveredSince = now.mono\n',
    becomes: 'else {\n    machine.coveredSince = stream.sent.mono\n',
  },
  {
    rule: '3: a reset is ignored',
    file: 'machine.ts',
    is: '  machine.coveredSince = now.mono\n  machine.heard = NEVER\n  machine.counters.resets',
    becomes: '  machine.counters.resets',
  },
  {
    rule: '4: the age of an answer is ignored',
    file: 'memory.ts',
    is: '(1 + DRIFT) * Math.max(0, lease.ageMs)',
    becomes: '0',
  },
  {
    rule: '4: ages by a clock of the same speed',
    file: 'memory.ts',
    is: '(1 + DRIFT) * Math.max(0, lease.ageMs)',
    becomes: 'Math.max(0, lease.ageMs)',
    isSubtle: true,
  },
  {
    rule: '4: an answer counts from its arrival',
    file: 'memory.ts',
    is: '{ mono: asked.mono - age, wall: asked.wall - age }',
    becomes: '{ mono: now.mono - age, wall: now.wall - age }',
  },
  {
    rule: '4: changes heard meanwhile are ignored',
    file: 'memory.ts',
    is: 'if (!(asOf.mono > lastChange)) return',
    becomes: '',
  },
  {
    rule: '4: changes of the store are ignored',
    file: 'memory.ts',
    is: ', changedAt.get(storeId) ?? -Infinity',
    becomes: '',
  },
  {
    rule: '4: changes are forgotten at once',
    file: 'memory.ts',
    is: 'memory.forgottenUpTo = at',
    becomes: '',
    isSubtle: true,
  },
  {
    rule: '5: coverage helps whatever was kept before it',
    file: 'memory.ts',
    is: ' && entry.asOfMono > coveredSince',
    becomes: '',
  },
  {
    rule: '5: trusted for longer',
    file: 'machine.ts',
    is: 'const TRUST_MS = 1_500',
    becomes: 'const TRUST_MS = 1_600',
  },
  {
    rule: '6: changes are not heeded',
    file: 'memory.ts',
    is: 'for (const name of [...(memory.byId.get(id) ?? [])]) drop(memory, name)',
    becomes: '',
  },
]

const functions = `export * from './machine.ts'; export { answer, onAnswer } from './memory.ts'`

export async function load(mutant: Mutant): Promise<MachineFunctions> {
  const { outputFiles } = await build({
    stdin: { contents: functions, resolveDir: FOLDER, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    plugins: [
      {
        name: 'mutant',
        setup: (bundler) =>
          bundler.onLoad({ filter: /verify\/\w+\.ts$/ }, ({ path }) => {
            const text = readFileSync(path, 'utf8')
            return { loader: 'ts', contents: path.endsWith(`/${mutant.file}`) ? mutate(text, mutant) : text }
          }),
      },
    ],
  })
  const [file] = outputFiles
  return import(`data:text/javascript;base64,${Buffer.from(file?.text ?? '').toString('base64')}`)
}

function mutate(text: string, { rule, is, becomes }: Mutant): string {
  const parts = text.split(is)
  if (parts.length !== 2)
    throw new Error(`"${rule}" is about a line that stands ${parts.length - 1} times in the source`)
  return parts.join(becomes)
}
