#!/usr/bin/env node
import { existsSync } from 'node:fs'

// In a clone, what has changed is built first; a package that was installed has no sources. 1 would mean an answer.
if (existsSync(new URL('../src', import.meta.url))) {
  const { build } = await import('../../../bin/build.js')
  build({ failure: 2 })
}
await import('../dist/main.js')
