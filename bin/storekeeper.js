#!/bin/sh
':' //; exec node --max-semi-space-size=16 --heap-growing-percent=30 "$0" "$@"
// A shell runs the line above, which starts Node.js with this file; for Node.js it is a string and a comment. The flags have to
// stand on the command line: V8 sizes its young generation once, and v8.setFlagsFromString comes too late to change that.

import { build } from './build.js'

const [command, ...more] = process.argv.slice(2)
if (command === 'start') {
  if (more.length > 0) {
    process.stderr.write('"start" takes no arguments: settings are environment variables (docs/operations.md).\n')
    process.exit(1)
  }
  await import('./start.js')
} else if (['scan', 'quickstart'].includes(command)) {
  process.stderr.write(`"storekeeper ${command}" is now "skp ${command}".\n`)
  await import('./skp.js')
} else {
  // For events, 1 means that something was found.
  build({ failure: command === 'events' ? 2 : 1 })
  await import('../dist/cli/main.js')
}
