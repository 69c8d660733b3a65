#!/usr/bin/env node
import { build } from './build.js'

const command = process.argv[2]
// For scan and events, 1 means that something was found.
build({ failure: ['scan', 'events'].includes(command) ? 2 : 1 })
await import(['scan', 'quickstart'].includes(command) ? '../dist/packages/cli/src/main.js' : '../dist/cli/main.js')
