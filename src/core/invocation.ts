// How an operator calls the commands of this installation, for messages that name one.

import { existsSync } from 'node:fs'

/** In a clone by npm's scripts, in an npm package by npx, in a container image by their names. */
const HOW = existsSync(new URL('../../src/main.ts', import.meta.url))
  ? 'scripts'
  : import.meta.url.includes('/node_modules/')
    ? 'npx'
    : 'names'

export function operatorCommand(words: string): string {
  return commandOf('storekeeper', words)
}

export function userCommand(words: string): string {
  // What everybody runs first has a script of its own.
  if (HOW === 'scripts' && words === 'quickstart') return 'npm run quickstart'
  return commandOf('skp', words)
}

function commandOf(name: string, words: string): string {
  if (HOW === 'scripts') return `npm run --silent ${name} -- ${words}`
  return HOW === 'npx' ? `npx ${name} ${words}` : `${name} ${words}`
}
