// The operator's commands. What a command prints on stdout is its result and nothing else; words for a person go to
// stderr.

const USAGE = `Usage: npm run --silent storekeeper -- <command>

  service-token create <name>   issue a token for a back end that verifies keys; prints it, once
  service-token list            list the tokens, without their values
  service-token revoke <id>     end a token
  events export <storeId>       print the sealed events of a store, a line of JSON each; --system: of no store
  events head <storeId>         print the position and hash that all of them end in; --all: of every store
  events verify <file>          check an export, from a file or - for stdin; --heads <file>: also by the heads you kept
  scan <path…>                  find keys and tokens in files or, with --history, in a git repository; see scan --help
  secret rotate                 give an embedded database a new server secret, with the service stopped
  secret rewrap                 move what is kept under the previous server secret to the current one
  secret status                 tell what is still under another secret than the current one
  secret retire                 forget the previous server secret of an embedded database
  quickstart                    try the API of a running service, request by request
`

const say = (line: string) => void process.stderr.write(`${line}\n`)

// Whoever reads our output may have seen enough (`… | head`), or a disk is full. The command ends at the next line, in
// order: a database that was started for it is stopped.
let unwritable: NodeJS.ErrnoException | null = null
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!unwritable && error.code !== 'EPIPE') say(`What this command printed could not be written: ${error.message}`)
  unwritable ??= error
  process.exitCode = exitCodeOf(unwritable)
})

function print(line: string): void {
  if (unwritable) throw unwritable
  process.stdout.write(`${line}\n`)
}

/** For a scan that was not read to its end, 1 means that it has found something. */
function exitCodeOf(error: NodeJS.ErrnoException & { exitCode?: number }): number {
  if (error === unwritable) return error.code === 'EPIPE' ? 1 : 2
  return error.exitCode ?? 1
}

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

const [name = '', ...args] = process.argv.slice(2)
const isHelp = (word: string) => word === '--help' || word === '-h'
try {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (['', 'help'].includes(name) || isHelp(name) || (name !== 'scan' && args.some(isHelp))) print(USAGE)
  else if (!load) throw new Error(`There is no command "${name}".\n\n${USAGE}`)
  else {
    const code = await (await load())(args, { say, print })
    process.exitCode = unwritable ? exitCodeOf(unwritable) : (code ?? 0)
  }
} catch (error) {
  if (error !== unwritable) say((error as Error).message)
  process.exitCode = exitCodeOf(error as Error)
}
