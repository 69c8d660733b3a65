// What a page loads, in kB as it is sent: compressed with brotli. Nothing may creep in unseen.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const DASHBOARD = join(import.meta.dirname, '../../../dist/dashboard')
const BUDGET = { signIn: 90, keysList: 210, css: 30, furtherPage: 20 }

type Chunk = { file: string; name?: string; imports?: string[]; css?: string[]; isDynamicEntry?: boolean }

test('no page loads more than its budget', () => {
  const manifest = JSON.parse(readFileSync(join(DASHBOARD, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>
  /** The chunks that these bring with them, themselves among them. */
  const closure = (names: string[], all = new Set<string>()): Set<string> => {
    for (const name of names) {
      if (all.has(name)) continue
      all.add(name)
      closure(manifest[name]?.imports ?? [], all)
    }
    return all
  }
  const sizeOf = (file: string) => statSync(join(DASHBOARD, `${file}.br`)).size / 1_000
  const scripts = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + sizeOf((manifest[name] as Chunk).file), 0)

  // A chunk that also holds what others import from it is listed by its name.
  const shell = Object.keys(manifest).find((name) => manifest[name]?.name === 'shell') as string
  const keys = closure(['index.html', shell, 'pages/keys/list.tsx'])
  const further = Object.keys(manifest)
    .filter((name) => name.startsWith('pages/') && manifest[name]?.isDynamicEntry)
    .map((name) => ({ name, size: scripts([...closure([name])].filter((one) => !keys.has(one))) }))
    .sort((a, b) => b.size - a.size)
  const sheets = new Set(Object.values(manifest).flatMap(({ css = [] }) => css))
  const table = {
    signIn: scripts(closure(['index.html', 'pages/ways-in/sign-in.tsx'])),
    keysList: scripts(keys),
    css: [...sheets].reduce((sum, file) => sum + sizeOf(file), 0),
    furtherPage: further[0]?.size ?? Number.NaN,
  }
  console.info(`kB: ${JSON.stringify(table)}, the largest further pages: ${JSON.stringify(further.slice(0, 5))}`)
  for (const [what, most] of Object.entries(BUDGET))
    expect(table[what as keyof typeof table], what).toBeLessThanOrEqual(most)
})
