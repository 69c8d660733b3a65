// What holds on every page: for a screen reader, a keyboard, a small screen, and somebody who does not like motion.

import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { NEW_ADDRESS, type Shop, shop } from '../../../tests/shop.ts'
import { browserTest, forgive, openBrowser } from './browser.ts'
import { accessibilityFaults, longestMotion, widerThan } from './looks.ts'
import { allPages } from './pages.ts'

async function filledShop(): Promise<{ world: Shop; pages: ReturnType<typeof allPages> }> {
  const world = await shop()
  const { api, owner, keys, billing, store } = world
  const as = { as: owner.token }
  const create = async (path: string, body: object) => (await api.post(path, body, as)).body.id as string
  const inStore = `/v1/user/store/${store.id}`
  const externalId = 'customer-42'
  const { id: userId } = (await api.put(`${inStore}/customers/${externalId}`, { name: 'Grace Hopper' }, as)).body
  const ids = {
    storeId: store.id,
    keyId: await create(keys, { name: 'Checkout', type: 'PROD', permissions: ['READ', 'WRITE'], owner: externalId }),
    webhookId: await create(`${inStore}/webhooks`, { url: 'https://hooks.example.com/storekeeper', types: ['*'] }),
    userId: (await world.member('STAFF')).id,
    addressId: await create(billing, NEW_ADDRESS),
    customer: {
      externalId,
      userId,
      addressId: await create(`${inStore}/customers/${externalId}/billing`, NEW_ADDRESS),
    },
  }
  await api.patch(`${billing}/${ids.addressId}`, { city: 'Palo Alto' }, as)
  return { world, pages: allPages(ids) }
}

/** Once what it waits for is there. */
async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  await expect.poll(() => page.locator('[aria-busy=true], [aria-label="Loading"]').count()).toBe(0)
}

/** Opens a dialog, a menu, a part or a tab. */
async function open(page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name }).or(page.getByRole('tab', { name })).first()
  const isTab = (await button.getAttribute('role')) === 'tab'
  await button.click()
  const opened = page
    .locator('[role=dialog]:visible, [role=menu]:visible')
    .or(page.locator('[aria-expanded=true]').filter({ hasText: name }))
  await (isTab ? page.getByRole('tab', { name, selected: true }) : opened).first().waitFor()
  await settled(page)
}

/** Browsers close only tabs that were opened by a link of ours: this page says so, too. */
const OPENED_BY_HAND = /^console: Scripts may close only/

/**
 * As a link of the dashboard goes there: scripts stay compiled. The token of a mailed link is taken when a page is loaded.
 * What was open on the page before is gone, or it alone would be looked at.
 */
async function goTo(page: Page, path: string): Promise<void> {
  if (path.includes('#')) await page.goto(path)
  else await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
  await settled(page)
  await expect.poll(() => page.locator('[role=dialog]:visible, [role=menu]:visible').count()).toBe(0)
}

/** In parts, each a test of its own: looking at all pages takes a while. */
const PARTS = 2

for (let part = 0; part < PARTS; part++)
  browserTest(`every page and dialog is for everyone, ${part + 1} of ${PARTS}`, async () => {
    const { world, pages } = await filledShop()
    const { page, faults } = await openBrowser(world, '/stores', { as: world.owner })
    page.on('dialog', (dialog) => void dialog.accept())
    const found: Record<string, unknown> = {}
    const look = async (name: string) => {
      const wrong = await accessibilityFaults(page)
      if (wrong.length > 0) found[`${name} has faults that WCAG 2.2 AA names`] = wrong
      const seconds = await longestMotion(page)
      if (seconds > 0.001) found[`${name} moves, though asked not to`] = seconds
      // A window of 1280 pixels, zoomed to 200 %, is as wide as one of 640.
      for (const width of [640, 320]) {
        const wider = await widerThan(page, width)
        if (wider.length > 0) found[`${name} scrolls sideways at ${width} pixels`] = wider
      }
      await page.setViewportSize({ width: 1280, height: 800 })
    }
    for (const { name, path, opens = [] } of pages.filter((_, n) => n % PARTS === part)) {
      await goTo(page, path)
      await look(name)
      for (const button of opens) {
        await open(page, button)
        await look(`${name}, ${button},`)
        await page.keyboard.press('Escape')
      }
    }
    expect(found).toEqual({})
    forgive(faults, '404 POST /v1/auth/invitation', OPENED_BY_HAND)
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
