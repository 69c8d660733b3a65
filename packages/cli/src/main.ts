// The command line for users of the service. It needs neither the database nor the server's code: a service is asked over
// HTTP, like any other client asks it.

import { runAtTerminal } from '../../../src/cli/io.ts'
import { atTerminal } from './io.ts'
import { run } from './run.ts'

// Not awaited here: parts of the client are loaded when they are needed, and in one file they come after this one has ended.
void runAtTerminal((argv, io) => run(argv, atTerminal(io)))
