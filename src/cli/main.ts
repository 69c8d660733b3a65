// The operator's commands. What a command prints on stdout is its result and nothing else; words for a person go to
// stderr.

import { ConfigFault } from '../config.ts'

const USAGE = `Usage: npm run --silent storekeeper -- <command>

  service-token create <name>   issue a token for a back end that verifies keys; prints it, once
  service-token list            list the tokens, without their values
  service-token revoke <id>     end a token
  events export <storeId>       print the sealed events of a store, a line of JSON each; --system: of no store
  events head <storeId>         print the position and hash that all of them end in; --all: of every store
  events verify <file>          check an export, from a file or - for stdin; --head <head>: also that its end is there
  scan <path…>                  find keys and tokens in files or, with --history, in a git repository; see scan --help
  secret rotate                 give an embedded database a new server secret, with the service stopped
  secret rewrap                 move what is kept under the previous server secret to the current one
  secret status                 tell what is still under another secret than the current one
  secret retire                 forget the previous server secret of an embedded database
  quickstart                    try the API of a running service, request by request
`

const say = (line: string) => void process.stderr.write(`${line}\n`)
const print = (line: string) => void process.stdout.write(`${line}\n`)

/** A command gives its exit code where 0 is not all it has to say. */
type Command = (args: string[], io: { say: typeof say; print: typeof print }) => Promise<number | void>

/** Each is loaded only when it is called: the scan runs before every commit, and needs no database driver. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  'service-token': async () => (await import('./service-token.ts')).serviceToken,
  events: async () => (await import('./events.ts')).events,
  secret: async () => (await import('./secret.ts')).secret,
  scan: async () => (await import('./scan.ts')).scan,
  quickstart: async () => (await import('./quickstart.ts')).quickstart,
}

// Whoever reads our output may have seen enough (`… | head`). For a scan that means it has found something.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(1)
})

const [name = '', ...args] = process.argv.slice(2)
try {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (load) process.exitCode = (await (await load())(args, { say, print })) ?? 0
  else if (['', 'help', '--help', '-h'].includes(name)) print(USAGE)
  else throw new Error(`There is no command "${name}".\n\n${USAGE}`)
} catch (error) {
  say(error instanceof ConfigFault ? error.message : (error as Error).message)
  process.exitCode = (error as { exitCode?: number }).exitCode ?? 1
}
