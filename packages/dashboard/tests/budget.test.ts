// What a page loads, in kB as it is sent: compressed with brotli. Nothing may creep in unseen.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, forgetRefusals, openBrowser } from './browser.ts'
import { allPages } from './pages.ts'

const ASSETS = join(import.meta.dirname, '../../../dist/dashboard/assets')
const BUDGET = { signIn: 90, keysList: 210, css: 30, furtherPage: 20 }

/** The files that the page has loaded so far, those from the cache among them. */
async function assetsOf(page: Page, ending: '.js' | '.css'): Promise<string[]> {
  const urls = await page.evaluate<string[]>(`performance.getEntriesByType('resource').map(({ name }) => name)`)
  const names = urls.map((url) => new URL(url).pathname.split('/assets/')[1] ?? '')
  return [...new Set(names.filter((name) => name.endsWith(ending)))]
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

  const visitor = await openBrowser(world, '/sign-in')
  await visitor.page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  const signIn = kilobytes(await assetsOf(visitor.page, '.js'))

  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys`, { as: owner })
  await page.getByRole('link', { name: 'Till' }).waitFor()
  const known = await assetsOf(page, '.js')
  const keysList = kilobytes(known)
  const css = kilobytes(await assetsOf(page, '.css'))
  const further: Record<string, number> = {}
  for (const { name, path } of pages) {
    await page.goto(path)
    await page.locator('h1').first().waitFor()
    further[name] = kilobytes((await assetsOf(page, '.js')).filter((script) => !known.includes(script)))
  }
  const [largest = ['', 0]] = Object.entries(further).sort(([, a], [, b]) => b - a)
  const table = { signIn, keysList, css, furtherPage: largest[1] }
  console.info(`kB: ${JSON.stringify({ ...table, largest: largest[0] })}`)
  for (const [what, most] of Object.entries(BUDGET))
    expect(table[what as keyof typeof table], what).toBeLessThanOrEqual(most)
  for (const list of [faults, visitor.faults]) forgetRefusals(list)
})
