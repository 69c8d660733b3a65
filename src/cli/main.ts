// The operator's commands. What a command prints on stdout is its result and nothing else; words for a person go to
// stderr.

import { ConfigFault } from '../config.ts'
import { events, UsageFault } from './events.ts'
import { quickstart } from './quickstart.ts'
import { serviceToken } from './service-token.ts'

const USAGE = `Usage: npm run --silent storekeeper -- <command>

  service-token create <name>   issue a token for a back end that verifies keys; prints it, once
  service-token list            list the tokens, without their values
  service-token revoke <id>     end a token
  events export <storeId>       print the sealed events of a store, a line of JSON each; --system: of no store
  events head <storeId>         print the position and hash that all of them end in
  events verify <file>          check an export, from a file or - for stdin; --head <hash>: also that its end is there
  quickstart                    try the API of a running service, request by request
`

const say = (line: string) => void process.stderr.write(`${line}\n`)
const print = (line: string) => void process.stdout.write(`${line}\n`)

const COMMANDS: Record<string, (args: string[], io: { say: typeof say; print: typeof print }) => Promise<void>> = {
  'service-token': serviceToken,
  events,
  quickstart,
}

// Whoever reads the first lines and leaves, as `head` does, has what they wanted.
process.stdout.on('error', () => process.exit())

const [name = '', ...args] = process.argv.slice(2)
try {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command) await command(args, { say, print })
  else if (['', 'help', '--help', '-h'].includes(name)) print(USAGE)
  else throw new Error(`There is no command "${name}".\n\n${USAGE}`)
} catch (error) {
  say(error instanceof ConfigFault ? error.message : (error as Error).message)
  process.exitCode = error instanceof UsageFault ? error.exitCode : 1
}
