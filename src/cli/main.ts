// The operator's commands. A command prints its result on stdout and nothing else there; what a person should read goes
// to stderr.

import { runAtTerminal } from './io.ts'
import { run } from './run.ts'

await runAtTerminal(run)
