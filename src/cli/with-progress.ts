// Progress of a command that copies a database, on stderr; Ctrl-C ends it in order.

import type { Progress } from '../backup/progress.ts'
import type { Io } from './io.ts'

export async function withProgress<T>(io: Io, work: (progress: Progress) => Promise<T>): Promise<T> {
  const interrupt = io.interruptFlag()
  try {
    return await work({ say: io.say, isInterrupted: () => interrupt.raised })
  } finally {
    interrupt.close()
  }
}
