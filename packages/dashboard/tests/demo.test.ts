// `npm run demo` fills a service that runs, and the first look is at full pages.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'
import { fillSignIn } from './flows.ts'

const root = join(import.meta.dirname, '../../..')

browserTest('the demo store has people, keys with weeks of use, customers, webhooks and events', async () => {
  const world = await shop({ alone: true })
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'demo', '--', world.api.url], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: world.databaseUrl, SERVER_SECRET: world.serverSecret },
  })
  const [, email = '', password = ''] = /E-mail +(\S+)\s+Password +(.+)/.exec(stdout) ?? []
  expect(stdout).not.toContain('The use of the past weeks is missing')
  const { page } = await openBrowser(world, '/sign-in')
  await fillSignIn(page, { email, password })
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('main').getByRole('link', { name: 'Harbour & Pine' }).click()

  // A row for each of the days.
  const days = page.getByRole('table', { name: '7 days' }).locator('tbody tr')
  await expect.poll(() => days.count()).toBe(7)
  const calls = (await days.locator('td:nth-of-type(2)').allTextContents()).map((text) =>
    Number(text.replace(/\D/g, '')),
  )
  // The last of them is today, which may have just begun.
  expect(Math.min(...calls.slice(0, -1))).toBeGreaterThan(100)
  const main = page.getByRole('main')
  for (const [link, shown] of [
    ['API keys', 'Warehouse scanner'],
    ['Members', 'Aiko Tanaka'],
    ['Customers', '山田 花子'],
    ['Webhooks', 'https://hooks.harbour.example/storekeeper'],
    ['Events', 'Olive Hart created the key “Checkout”'],
  ] as const) {
    await page.getByRole('navigation').getByRole('link', { name: link }).click()
    await main.getByText(shown).first().waitFor()
  }
})
