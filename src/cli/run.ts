// The operator's command line: those commands that need the database or what it holds.

import type { Command } from 'commander'
import { operatorCommand, userCommand } from '../core/invocation.ts'
import { addBackup } from './backup.ts'
import { addEvents } from './events.ts'
import { addHealth } from './health.ts'
import { addHolds } from './holds.ts'
import type { Io } from './io.ts'
import { helpRows, newProgram, runProgram, usageErrors } from './program.ts'
import { addSecret } from './secret.ts'
import { addServiceToken } from './service-token.ts'
import { addUpgrade } from './upgrade.ts'
import { addUser } from './user.ts'

/** The exit code. */
export function run(argv: string[], io: Io): Promise<number> {
  const program = newProgram(io)
  program
    .configureHelp({ formatHelp: () => helpOf(program) })
    .exitOverride(usageErrors((fault) => new Error(`${fault}\n\n${helpOf(program)}`)))
    .argument('[command...]')
    .allowUnknownOption()
    .action((_, __, { args }) => {
      throw new Error(`Unknown command: ${args[0]}.\n\n${helpOf(program)}`)
    })
  addServiceToken(program, io)
  addUser(program, io)
  addEvents(program, io)
  addHolds(program, io)
  addBackup(program, io)
  addUpgrade(program, io)
  addSecret(program, io)
  addHealth(program, io)
  return runProgram(program, argv.length === 0 || argv[0] === 'help' ? ['--help'] : argv, io)
}

/** One page for all: a line for each command that can be called. */
function helpOf(program: Command): string {
  const rows = program.commands.flatMap((group) =>
    group.commands.length === 0 ? [rowOf(group)] : group.commands.map((command) => rowOf(command, `${group.name()} `)),
  )
  // bin/storekeeper.js does not come here for it.
  const start: [string, string] = ['start', 'run the service']
  return `Usage: ${operatorCommand('<command>')}\n\n${helpRows([start, ...rows])}\n\nWhat needs no database, such as scan, is in skp: ${userCommand('--help')}\n`
}

function rowOf(command: Command, group = ''): [string, string] {
  const usage = command.usage().replace('[options]', '').trim()
  return [`${group}${command.name()} ${usage}`.trim(), command.description()]
}
