// docs/client.md and the README are true: their examples run in order, as one program, and print what the page shows.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { shop } from '../../../tests/shop.ts'

type Program = (...given: unknown[]) => Promise<void>
// There is no name for it in the language.
const AsyncFunction = (async () => {}).constructor as new (...text: string[]) => Program

/** Runs the JavaScript of a page with these settings, and compares what each block prints with the text block after it. */
async function follow(path: string, env: Record<string, string>, prepare = ''): Promise<number> {
  const modules = {
    '@storekeeper/client': await import('./index.ts'),
    '@storekeeper/client/webhooks': await import('./webhooks.ts'),
  }
  const page = readFileSync(path, 'utf8')
  const blocks = [...page.matchAll(/^```(js|text)\n(.*?)^```$/gms)].map(([, language, text = '']) => ({
    language,
    text,
  }))
  const printed: string[][] = []
  const program = blocks
    .filter(({ language }) => language === 'js')
    .map(({ text }) => text.replaceAll(/^import (\{[^}]*\}) from ('[^']+')$/gm, 'const $1 = modules[$2]'))
    .map((text) => `begin()\n${text.includes('LAST_EVENT') ? prepare : ''}\n${text}`)
  const run = new AsyncFunction('modules', 'process', 'console', 'begin', program.join('\n'))
  const console = { log: (...words: unknown[]) => printed.at(-1)?.push(words.join(' ')) }
  await run(modules, { env }, console, () => printed.push([]))

  let [at, compared] = [-1, 0]
  for (const { language, text } of blocks) {
    if (language === 'js') at += 1
    else {
      const pattern = text
        .trim()
        .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
        .replaceAll('…', '\\S*')
      expect(printed[at]?.join('\n'), path).toMatch(new RegExp(`^${pattern}$`))
      compared += 1
    }
  }
  return compared
}

test('the examples of the page and of the README do what they say', async () => {
  const { api, owner, store } = await shop()
  const env = { STOREKEEPER: api.url, STOREKEEPER_URL: api.url, STOREKEEPER_TOKEN: owner.token }
  // Events are followed from the first one on, so that there is one to print.
  const first = 'process.env.LAST_EVENT = (await store.events.list({ type: "store.*" }).page()).data[0].id'
  expect(await follow('docs/client.md', env, first)).toBe(6)
  expect(await follow('README.md', { ...env, TOKEN: owner.token, STORE_ID: store.id })).toBe(1)
})

test('the page names every code of the client and every option', () => {
  const page = readFileSync('docs/client.md', 'utf8')
  const namesIn = (file: string, pattern: RegExp) =>
    [...readFileSync(new URL(file, import.meta.url), 'utf8').matchAll(pattern)].map(([, name]) => name as string)
  const codes = namesIn('error.ts', /^ {2}\| '(\w+)'$/gm)
  const options = namesIn('options.ts', /^ {2}(\w+)\??: /gm).filter((name) => name !== 'query' && name !== 'body')
  expect([codes.length, options.length]).toEqual([6, 12])
  for (const name of [...codes, ...options]) expect(page).toContain(`\`${name}\``)
})
