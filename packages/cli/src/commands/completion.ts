// Completion: a shell asks skp itself what may come next, so that every shell knows what the commands know. Ids of keys
// are asked of the service, which has a moment for its answer.

import { type Key, storekeeper } from '@storekeeper/client'
import type { Argument, Command, Option } from 'commander'
import { plain } from '../../../../src/cli/plain.ts'
import { type App, targetOf } from '../session.ts'
import { oneOf } from '../values.ts'

/** Somebody waits with a finger on the key. */
const ANSWER_MS = 300
const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const

/** The last word, which may be empty, is the one to complete. */
const SCRIPTS: Record<(typeof SHELLS)[number], string> = {
  bash: `_skp() {
  local IFS=$'\\n'
  COMPREPLY=($(skp __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
  [ \${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
}
complete -F _skp skp`,
  zsh: `#compdef skp
_skp() {
  local -a found
  local line
  for line in "\${(@f)$(skp __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [ -n "$line" ] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe skp found; else _files; fi
}
compdef _skp skp`,
  fish: `function __skp_complete
  set -l words (commandline -opc) (commandline -ct)
  skp __complete -- $words[2..-1] 2>/dev/null
end
complete -c skp -f -a '(__skp_complete)'`,
  powershell: `Register-ArgumentCompleter -Native -CommandName skp -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += '' }
  skp __complete -- @words 2>$null | ForEach-Object {
    $value, $about = $_ -split "\`t", 2
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', ($about ? $about : $value))
  }
}`,
}

export function addCompletion(program: Command, app: App): void {
  const { io } = app
  program
    .command('completion')
    .description('print a script that completes commands, options and ids of keys in your shell')
    .argument('<shell>', SHELLS.join(', '), oneOf(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => io.print(SCRIPTS[shell]))
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[]) => {
      for (const { value, about } of await complete(program, app, words)) io.print(`${value}\t${about}`)
    })
}

type Candidate = { value: string; about: string }

async function complete(program: Command, app: App, words: string[]): Promise<Candidate[]> {
  const current = words.at(-1) ?? ''
  const { command, places, option } = whereIs(program, words.slice(0, -1))
  const candidates = option
    ? wordsIn(option.description)
    : current.startsWith('-')
      ? optionsOf(command)
      : [...commandsOf(command), ...(await valuesOf(app, command.registeredArguments[places]))]
  return candidates.filter(({ value }) => value.startsWith(current))
}

/** The command that is being written, how many of its arguments are there, and the option whose value comes next. */
function whereIs(program: Command, words: string[]): { command: Command; places: number; option: Option | undefined } {
  let command = program
  let places = 0
  let option: Option | undefined
  for (const word of words) {
    if (option) option = undefined
    else if (word.startsWith('-')) {
      const found = command.options.find(({ long, short }) => word === long || word === short)
      option = found?.required ? found : undefined
    } else {
      const found = places === 0 ? command.commands.find((one) => one.name() === word) : undefined
      if (found) command = found
      else places += 1
    }
  }
  return { command, places, option }
}

function commandsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ value: one.name(), about: one.description() }))
}

function optionsOf(command: Command): Candidate[] {
  const options = command.createHelp().visibleOptions(command)
  return options.map(({ long, description }) => ({ value: long ?? '', about: description }))
}

/** A description that lists words, such as "PROD, TEST, DEV", says what may be written. */
function wordsIn(description: string): Candidate[] {
  const [, list] = /((?:[A-Za-z]+, )+[A-Za-z]+)$/.exec(description) ?? []
  return (list ?? '')
    .split(', ')
    .filter((word) => word !== '')
    .map((value) => ({ value, about: '' }))
}

async function valuesOf(app: App, argument: Argument | undefined): Promise<Candidate[]> {
  if (!argument) return []
  return argument.name() === 'key' ? keysOf(app) : wordsIn(argument.description)
}

/** Nothing, where nobody is signed in or the answer takes too long: a completion is no place for errors. */
async function keysOf(app: App): Promise<Candidate[]> {
  try {
    const { url, token, storeId } = targetOf(app, {})
    if (token === undefined || storeId === undefined) return []
    const sk = storekeeper({ url, token, timeout: ANSWER_MS, retries: 0 })
    const { data }: { data: Key[] } = await sk.store(storeId).keys.list({ limit: 100 }).page()
    // A shell runs what is completed: nothing but an id is offered, whatever the service answers.
    const keys = data.filter(({ id }) => /^\w+$/.test(id))
    return keys.map(({ id, name, status }) => ({ value: id, about: plain(`${name} (${status})`) }))
  } catch {
    return []
  }
}
