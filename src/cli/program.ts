// What the operator's command line and the user's (packages/cli) have in common: commander parses the arguments, and
// here its errors become our sentences and exit codes. Needs nothing but Node and commander.

import { Command, CommanderError } from 'commander'
import { type Io, OutputError } from './io.ts'

/** Help goes to `print`; of an error the message is kept, for `runProgram` to say. */
export function newProgram(io: Io): Command {
  return new Command()
    .configureOutput({ writeOut: (text) => io.print(text), outputError: () => {} })
    .helpCommand(false)
    .showSuggestionAfterError(false)
}

/**
 * For `exitOverride` of a command, and of the commands below it that are added afterwards: what to throw when the
 * arguments are not right.
 */
export function usageErrors(toError: (fault: string) => Error): (error: CommanderError) => never {
  return (error) => {
    if (error.exitCode === 0) throw error
    const fault = error.message
      .replace(/^error: ./, (start) => start.slice(-1).toUpperCase())
      .replace(/\n\((Did you mean .*)\)$/, '. $1')
    throw toError(/[.?]$/.test(fault) ? fault : `${fault}.`)
  }
}

/** The exit code: 1 for an error that names no other in `exitCode`. */
export async function runProgram(program: Command, argv: string[], io: Io): Promise<number> {
  program.hook('preAction', (_, command) => refuseOptionsAsValues(command, argv))
  try {
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    // What commander throws after it has printed the help.
    if (error instanceof CommanderError) return error.exitCode
    if (!(error instanceof OutputError)) io.say((error as Error).message)
    return (error as { exitCode?: number }).exitCode ?? 1
  }
}

/**
 * Commander takes `--skip --history` for `--history` as the value of `--skip`; most likely the value was forgotten. Any other
 * word with a dash is a value: cursors and names may begin with one.
 */
function refuseOptionsAsValues(command: Command, argv: string[]): void {
  const names = new Set(command.options.flatMap(({ long, short }) => [long, short]))
  for (const option of command.options.filter(({ required }) => required)) {
    const values = [command.getOptionValue(option.attributeName())].flat()
    const taken = values.find((value) => names.has(value) && !argv.includes(`${option.long}=${value}`))
    if (taken !== undefined) command.error(`error: option '${option.flags}' has no value: '${taken}' is an option too`)
  }
}

/** Rows of a term and its meaning, as help shows them. */
export function helpRows(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([term]) => term.length)) + 3
  return rows.map(([term, meaning]) => `  ${term.padEnd(width)}${meaning}`).join('\n')
}
