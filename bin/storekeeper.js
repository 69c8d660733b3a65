#!/usr/bin/env node
import { build } from './build.js'

// For a scan, 1 means that something was found.
build({ failure: process.argv[2] === 'scan' ? 2 : 1 })
await import('../dist/cli/main.js')
