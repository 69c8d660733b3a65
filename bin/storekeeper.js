#!/usr/bin/env node
import { build } from './build.js'

const command = process.argv[2]
if (['scan', 'quickstart'].includes(command)) {
  process.stderr.write(`"storekeeper ${command}" is now "skp ${command}".\n`)
  await import('./skp.js')
} else {
  // For events, 1 means that something was found.
  build({ failure: command === 'events' ? 2 : 1 })
  await import('../dist/cli/main.js')
}
