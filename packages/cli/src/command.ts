// What the commands have in common: their options, and the question before what cannot be undone.

import type { Command } from 'commander'
import { CommandError, EXIT, UsageError } from './errors.ts'
import type { UserIo } from './io.ts'
import { type App, type ServiceOptions, type Session, withSession } from './session.ts'
import { parseCount } from './values.ts'

type Given<Options> = { args: string[]; options: Options & ServiceOptions }

/** `isDefault`: what a group does when no other command of it is named. */
type Place = { isDefault?: boolean }

/** A command that asks the service. */
export function serviceCommand(
  parent: Command,
  name: string,
  description: string,
  { isDefault = false }: Place = {},
): Command {
  const command = parent.command(name, { isDefault })
  if (isDefault) refuseWords(parent, command)
  return command
    .description(description)
    .option('--url <url>', 'the service; else STOREKEEPER_URL, or where you signed in last')
    .option('--json', 'print what the service answers, as JSON')
}

/** A command that asks the service about one store. */
export function storeCommand(parent: Command, name: string, description: string, place: Place = {}): Command {
  return serviceCommand(parent, name, description, place).option(
    '--store <id>',
    'the store; else STOREKEEPER_STORE, or the one of "skp stores use"',
  )
}

export function action<Options>(
  command: Command,
  app: App,
  work: (session: Session, given: Given<Options>) => Promise<void>,
): Command {
  return command.action(() => {
    const given = { args: wordsOf(command), options: command.opts<Options & ServiceOptions>() }
    return withSession(app, given.options, (session) => work(session, given))
  })
}

/** Arguments as one list. One that could be left out, and was, is not in it. */
function wordsOf(command: Command): string[] {
  return command.processedArgs.flat().filter((word) => word !== undefined)
}

/** A word that is left over for the default command was meant as the name of another. */
function refuseWords(group: Command, command: Command): void {
  command.allowExcessArguments().hook('preAction', () => {
    const [word] = command.args
    if (word !== undefined) throw new UsageError(`Unknown subcommand: ${group.name()} ${word}.`)
  })
}

export function listOptions(command: Command): Command {
  return command
    .option('--all', 'everything, as it comes; with --json a line each')
    .option('--limit <count>', 'how many at most', parseCount)
    .option('--cursor <cursor>', 'where the page before has ended')
}

export type ListQuery = { all?: true; limit?: number; cursor?: string }

export function pageOf({ limit, cursor }: ListQuery): { limit?: number; cursor?: string } {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) }
}

export function onceOptions(command: Command): Command {
  return command.option('--idempotency-key <key>', 'to ask again for an answer that was lost')
}

export function dangerOptions(command: Command): Command {
  return command.option('-y, --yes', 'do not ask whether to do it')
}

/** Nothing is done before somebody has agreed, and nobody is asked who could not answer. */
export async function confirm(io: UserIo, question: string, { yes }: { yes?: true }): Promise<void> {
  if (yes) return
  if (!io.ask) throw new UsageError(`${question}\nNobody can be asked here: say --yes.`)
  const answer = await io.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was done.', EXIT.refused)
}

/** All of stdin, without the line break at its end. */
export async function readInput({ stdin }: UserIo): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(chunk)
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

/** Only what was given. */
export function present<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<
    Record<keyof Members, never>
  >
}
