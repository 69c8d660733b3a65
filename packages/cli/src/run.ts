// skp, the command line of whoever uses the service.

import { newProgram, runProgram, usageErrors } from '../../../src/cli/program.ts'
import { TOKEN_KINDS } from '../../../src/crypto/tokens.ts'
import { addApi } from './commands/api.ts'
import { addBilling } from './commands/billing.ts'
import { addCompletion } from './commands/completion.ts'
import { addCustomers } from './commands/customers.ts'
import { addEvents } from './commands/events.ts'
import { addKeyBatches } from './commands/key-batches.ts'
import { addKeyChanges } from './commands/key-changes.ts'
import { addKeyReaders } from './commands/keys.ts'
import { addLogin } from './commands/login.ts'
import { addMembers } from './commands/members.ts'
import { addQuickstart } from './commands/quickstart.ts'
import { addServiceTokens } from './commands/service-tokens.ts'
import { addStores } from './commands/stores.ts'
import { addVerify } from './commands/verify.ts'
import { addWebhooks } from './commands/webhooks.ts'
import { EXIT, UsageError } from './errors.ts'
import type { UserIo } from './io.ts'
import { addScan } from './scan/scan.ts'
import type { App } from './session.ts'

/** As in package.json. */
export const VERSION = '0.1.0'

/** The exit code. */
export async function run(argv: string[], io: UserIo): Promise<number> {
  const app: App = { io, argv, exitCode: EXIT.done }
  const secret = argv.find(isSecret)
  if (secret !== undefined) {
    io.say(
      'A secret is never an argument: others on this machine can see it, and your shell remembers it. Pipe it in instead. Nothing was sent; consider this one as leaked.',
    )
    return EXIT.wrongUse
  }
  const code = await runProgram(buildProgram(app), argv.length === 0 ? ['--help'] : argv, io)
  return code === EXIT.done ? app.exitCode : code
}

const SECRET = new RegExp(`(^|=)[a-z][a-z0-9]{1,15}_(${TOKEN_KINDS.join('|')})_[0-9A-Za-z]{38,}$`)

/** A key, or a token of a session, a service or an invitation, of whichever prefix. */
function isSecret(word: string): boolean {
  return SECRET.test(word)
}

export function buildProgram(app: App) {
  const program = newProgram(app.io)
    .name('skp')
    .configureOutput({ writeOut: (text) => app.io.print(text.replace(/\n$/, '')) })
    .version(VERSION, '--version', 'print the version')
    .description('Keys, customers and billing addresses of your stores, at a Storekeeper service.')
    .showSuggestionAfterError(true)
    .exitOverride(usageErrors((fault) => new UsageError(`${fault}\nSee "skp ${groupOf(app.argv)}--help".`)))
  addLogin(program, app)
  addStores(program, app)
  addMembers(program, app)
  addCustomers(program, app)
  const keys = program.command('keys').description('the API keys of a store').helpCommand(false)
  addKeyReaders(keys, app)
  addKeyChanges(keys, app)
  addKeyBatches(keys, app)
  addServiceTokens(program, app)
  addVerify(program, app)
  addBilling(program, app)
  addEvents(program, app)
  addWebhooks(program, app)
  addApi(program, app)
  addScan(program, app.io, () => {
    app.exitCode = EXIT.refused
  })
  addQuickstart(program, app.io)
  addCompletion(program, app)
  return program
}

/** The words that name a command, as far as they can be told from what follows. */
function groupOf(argv: string[]): string {
  const [group = '', verb = ''] = argv
  const words = [group, verb].filter((word, n) => /^[a-z-]+$/.test(word) && !word.startsWith('-') && n < 2)
  return words.length === 0 ? '' : `${words.join(' ')} `
}
