import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'
import { expectAccessible } from './looks.ts'

browserTest('somebody who is signed in sees their store, its pages and the way to others', async () => {
  const world = await shop()
  const { page } = await openBrowser(world, `/stores/${world.store.id}`, { as: world.owner })
  await page.getByRole('link', { name: 'API keys' }).waitFor()
  await expect.poll(() => page.title()).toBe('The shop · Storekeeper')
  await expectAccessible(page)
})
