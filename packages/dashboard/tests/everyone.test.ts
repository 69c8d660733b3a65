// What holds on every page: for a screen reader, a keyboard, a small screen, and somebody who does not like motion.

import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Shop, shop } from '../../../tests/shop.ts'
import { accessibilityFaults, browserTest, forgetRefusals, openBrowser } from './browser.ts'
import { allPages } from './pages.ts'

async function filledShop(): Promise<{ world: Shop; pages: ReturnType<typeof allPages> }> {
  const world = await shop()
  const { api, owner, keys, store } = world
  const as = { as: owner.token }
  const key = { name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'], owner: 'customer-42' }
  const { id: keyId } = (await api.post(keys, key, as)).body
  const webhook = { url: 'https://hooks.example.com/storekeeper', types: ['*'] }
  const { id: webhookId } = (await api.post(`/v1/user/store/${store.id}/webhooks`, webhook, as)).body
  const { id: userId } = await world.member('STAFF')
  return { world, pages: allPages({ storeId: store.id, keyId, webhookId, userId }) }
}

/** Once what it waits for is there. */
async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
}

/** In parts, each a test of its own: looking at all pages takes a while. */
const PARTS = 3

for (let part = 0; part < PARTS; part++)
  browserTest(
    `no page and no dialog has a fault that WCAG 2.2 AA names, in light and in dark, ${part + 1} of ${PARTS}`,
    async () => {
      const { world, pages } = await filledShop()
      const { page, faults } = await openBrowser(world, '/stores', { as: world.owner, reducedMotion: 'reduce' })
      page.on('dialog', (dialog) => void dialog.accept())
      const found: Record<string, string[]> = {}
      const look = async (name: string) => {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          const wrong = await accessibilityFaults(page)
          if (wrong.length > 0) found[`${name} ${colorScheme}`] = wrong
        }
      }
      for (const { name, path, opens = [] } of pages.filter((_, n) => n % PARTS === part)) {
        await page.goto(path)
        await settled(page)
        await look(name)
        for (const button of opens) {
          await page.getByRole('button', { name: button }).first().click()
          await look(`${name}, ${button}`)
          await page.keyboard.press('Escape')
        }
      }
      expect(found).toEqual({})
      forgetRefusals(faults)
    },
  )

browserTest('no page scrolls sideways at 320 pixels, and nothing moves for who asked for that', async () => {
  const { world, pages } = await filledShop()
  const { page, faults } = await openBrowser(world, '/stores', {
    as: world.owner,
    viewport: { width: 320, height: 640 },
    reducedMotion: 'reduce',
  })
  const wide: string[] = []
  const moving: string[] = []
  for (const { name, path } of pages) {
    await page.goto(path)
    await settled(page)
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    if (width > 320) wide.push(`${name}: ${width}`)
    const longest = await page.evaluate<number>(
      `Math.max(...[...document.querySelectorAll('*')].flatMap((element) => {
         const { transitionDuration, animationDuration } = getComputedStyle(element)
         return [transitionDuration, animationDuration].flatMap((text) => text.split(',').map(parseFloat))
       }))`,
    )
    if (longest > 0.001) moving.push(`${name}: ${longest}`)
  }
  expect({ wide, moving }).toEqual({ wide: [], moving: [] })
  forgetRefusals(faults)
})

/** Presses Tab until what has the focus is called so. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let n = 0; n < 80; n++) {
    await page.keyboard.press('Tab')
    const label = await page.evaluate<string>(
      `(({ ariaLabel, labels, textContent }) => (ariaLabel ?? labels?.[0]?.textContent ?? textContent).trim())(
         document.activeElement)`,
    )
    if (typeof name === 'string' ? label.startsWith(name) : name.test(label)) return
  }
  throw new Error(`Tab does not lead to ${name}`)
}

browserTest('a key is created, saved and found with the keyboard alone', async () => {
  const world = await shop()
  const { page } = await openBrowser(world, `/stores/${world.store.id}/keys`, { as: world.owner })
  await settled(page)
  await page.getByRole('link', { name: 'New key' }).waitFor()
  await tabTo(page, 'Skip to content')
  await tabTo(page, 'New key')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'New key' }).waitFor()
  await tabTo(page, /^Name/)
  await page.keyboard.type('Checkout')
  await tabTo(page, 'READ')
  await page.keyboard.press('Space')
  await tabTo(page, 'Create key')
  await page.keyboard.press('Enter')
  await page.getByTestId('secret').waitFor()
  await tabTo(page, 'I have saved it')
  await page.keyboard.press('Space')
  await tabTo(page, 'Done')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Checkout', level: 1 }).waitFor()
})
