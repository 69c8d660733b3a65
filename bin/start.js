import { build } from './build.js'

build()
await import('../dist/main.js')
