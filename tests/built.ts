// Commands that a test runs as processes are those of the build: their sources take three times as long to start.

import { beforeAll } from 'vitest'
import { build } from '../bin/build.js'

/** Nothing is built when nothing has changed since the last build. */
export function useBuild(): void {
  beforeAll(() => build(), 300_000)
}
