// What a page loads, in kB as it is sent: compressed with brotli. Nothing may creep in unseen.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'
import { allPages } from './pages.ts'

const ASSETS = join(import.meta.dirname, '../../../dist/dashboard/assets')
const BUDGET = { signIn: 90, keysList: 210, css: 30, furtherPage: 20 }

type Loaded = { scripts: Set<string>; styles: Set<string> }

function watchLoads(page: Page): Loaded {
  const loaded = { scripts: new Set<string>(), styles: new Set<string>() }
  page.on('response', (response) => {
    const [, name] = /\/assets\/([^/?]+)$/.exec(new URL(response.url()).pathname) ?? []
    if (name?.endsWith('.js')) loaded.scripts.add(name)
    if (name?.endsWith('.css')) loaded.styles.add(name)
  })
  return loaded
}

const kilobytes = (names: Iterable<string>) =>
  [...names].reduce((sum, name) => sum + statSync(join(ASSETS, `${name}.br`)).size, 0) / 1_000

browserTest('no page loads more than its budget', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const as = { as: owner.token }
  const { id: keyId } = (await api.post(keys, { name: 'Till', type: 'TEST', permissions: ['READ'] }, as)).body
  const webhook = { url: 'https://hooks.example.com/storekeeper', types: ['*'] }
  const { id: webhookId } = (await api.post(`/v1/user/store/${store.id}/webhooks`, webhook, as)).body
  const pages = allPages({ storeId: store.id, keyId, webhookId, userId: owner.id })

  const visitor = await openBrowser(world, '/found-a-key')
  const first = watchLoads(visitor.page)
  await visitor.page.goto('/sign-in')
  await visitor.page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  const signIn = kilobytes(first.scripts)

  const { page, faults } = await openBrowser(world, '/found-a-key', { as: owner })
  const loaded = watchLoads(page)
  await page.goto(`/stores/${store.id}/keys`)
  await page.getByRole('link', { name: 'Till' }).waitFor()
  const keysList = kilobytes(loaded.scripts)
  const known = new Set(loaded.scripts)
  const further: Record<string, number> = {}
  for (const { name, path } of pages) {
    loaded.scripts.clear()
    await page.goto(path)
    await page.locator('h1').first().waitFor()
    further[name] = kilobytes([...loaded.scripts].filter((script) => !known.has(script)))
  }
  const css = kilobytes(loaded.styles)
  const [largest = ['', 0]] = Object.entries(further).sort(([, a], [, b]) => b - a)
  const table = { signIn, keysList, css, furtherPage: largest[1] }
  console.info(`kB: ${JSON.stringify({ ...table, largest: largest[0] })}`)
  for (const [what, most] of Object.entries(BUDGET))
    expect(table[what as keyof typeof table], what).toBeLessThanOrEqual(most)
  faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 40[0-9]/.test(fault)))
})
