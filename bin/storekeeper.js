#!/usr/bin/env node
import { build } from './build.js'

build()
await import('../dist/cli/main.js')
