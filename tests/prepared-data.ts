// Data directories of the embedded database that tests copy: making one costs more than starting it. setup-data.ts makes them.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { inject } from 'vitest'

export type Prepared = 'empty' | 'migrated'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the prepared data directories. */
    preparedData: string
  }
}

/** A data directory with a database in it that nothing has been done with, or nothing but to migrate it. */
export function copyData(prepared: Prepared, data: string): void {
  execFileSync('cp', ['-a', join(inject('preparedData'), prepared), data])
}
