import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { curlCommand } from './curl-command.ts'

/** What a shell passes to curl. */
function wordsIn(command: string): string[] {
  const script = `uuidgen() { echo 7; }; curl() { printf '%s\\0' "$@"; }; ${command}`
  return spawnSync('sh', ['-c', script], { encoding: 'utf8', env: { STOREKEEPER_TOKEN: 't' } }).stdout.split('\0')
}

test('whatever stands in the path or the body is one word for the shell', () => {
  const url = new URL(`/a';echo b;'/$(echo c) "d"`, 'https://store.example')
  expect(wordsIn(curlCommand('POST', url, { name: `it's $HOME` }))).toEqual([
    '-X',
    'POST',
    `https://store.example/a';echo%20b;'/$(echo%20c)%20%22d%22`,
    '-H',
    'Authorization: Bearer t',
    '-H',
    'Idempotency-Key: 7',
    '-H',
    'Content-Type: application/json',
    '-d',
    `{\n  "name": "it's $HOME"\n}`,
    '',
  ])
})
