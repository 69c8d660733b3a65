// The commands of skp for docs/cli.md, from the program itself: what --help says, on one page.

import { PassThrough } from 'node:stream'
import type { Command, Option } from 'commander'
import { buildProgram } from '../packages/cli/src/run.ts'
import { textOutput } from '../src/cli/io.ts'

/** Options that mean the same wherever they are. */
const SHARED = ['--url', '--store', '--json', '--all', '--limit', '--cursor', '--idempotency-key', '--to', '--yes']

const nothing = () => {}

export function cliReference(): { commands: string; shared: string } {
  const program = buildProgram({
    argv: [],
    exitCode: 0,
    io: {
      ...textOutput(nothing, { write: nothing }),
      stdin: (async function* () {})(),
      env: {},
      cwd: '/',
      interruptFlag: () => ({ raised: false, close: nothing }),
      stdout: new PassThrough(),
      ask: null,
      deliver: async () => {},
      onInterrupt: () => nothing,
    },
  })
  const groups = visible(program).map((group) => {
    const leaves = visible(group)
    if (leaves.length === 0) return section('###', group, 'skp')
    const others = leaves.map((leaf) => section('####', leaf, `skp ${group.name()}`))
    return [`### skp ${group.name()}`, text(sentence(group.description())), ...others].join('\n\n')
  })
  return { commands: groups.join('\n\n'), shared: optionTable(sharedOptions(program)) }
}

function visible(command: Command): Command[] {
  return command.createHelp().visibleCommands(command)
}

function section(level: string, command: Command, parent: string): string {
  const name = `${parent} ${command.name()}`
  const usage = command.registeredArguments.map((argument) => {
    const word = argument.name() + (argument.variadic ? '…' : '')
    return argument.required ? `<${word}>` : `[${word}]`
  })
  const options = command.options.filter(({ hidden }) => !hidden)
  const own = options.filter((option) => !isShared(command, option))
  const shared = options.filter((option) => isShared(command, option)).map(({ long }) => `\`${long}\``)
  const words = command.registeredArguments.filter(({ description }) => description !== '')
  return [
    `${level} ${name}`,
    `\`${[name, ...usage].join(' ')}\`: ${text(command.description())}.${shared.length > 0 ? ` Also takes ${shared.join(', ')}.` : ''}`,
    ...(words.length > 0
      ? [words.map((argument) => `- \`${argument.name()}\`: ${text(argument.description)}`).join('\n')]
      : []),
    ...(own.length > 0 ? [optionTable(own)] : []),
  ].join('\n\n')
}

/** `--limit` of a key is a rate limit. */
function isShared(command: Command, { long }: Option): boolean {
  const isList = command.options.some((option) => option.long === '--cursor')
  return SHARED.includes(long ?? '') && (isList || !['--limit', '--all'].includes(long ?? ''))
}

function sharedOptions(program: Command): Option[] {
  const all = visible(program).flatMap((group) => [group, ...visible(group)])
  return SHARED.map((name) => {
    const owner = all.find((command) =>
      command.options.some((option) => option.long === name && isShared(command, option)),
    )
    const option = owner?.options.find(({ long }) => long === name)
    if (!option) throw new Error(`No command has ${name}`)
    return option
  })
}

function optionTable(options: Option[]): string {
  const rows = options.map(({ flags, description }) => `| \`${flags}\` | ${text(description)} |`)
  return ['| Option | Meaning |', '| --- | --- |', ...rows].join('\n')
}

function sentence(description: string): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`
}

/** A star is a star. */
function text(description: string): string {
  return description.replaceAll('*', '\\*').replaceAll('|', '\\|')
}
