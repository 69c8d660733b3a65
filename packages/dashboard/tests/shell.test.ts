import { expect } from 'vitest'
import { NEW_KEY, shop } from '../../../tests/shop.ts'
import { browserTest, openBrowser } from './browser.ts'
import { expectAccessible, expectNarrow } from './looks.ts'

browserTest('somebody with many stores finds another by typing, with the keyboard alone', async () => {
  const world = await shop()
  const { api, owner, store } = world
  for (const name of ['Harbour', 'Lighthouse', 'Night Market', 'Pine', 'Quay'])
    await api.post('/v1/user/store', { name }, { as: owner.token })
  const { page } = await openBrowser(world, `/stores/${store.id}`, { as: owner })
  await page.getByRole('link', { name: 'API keys' }).waitFor()
  await expect.poll(() => page.title()).toBe('The shop · Storekeeper')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Switch store: The shop' }).focus()
  await page.keyboard.press('Enter')
  const stores = page.getByRole('dialog')
  await stores.getByRole('link', { name: 'Quay' }).waitFor()
  await expectAccessible(page)
  await expectNarrow(page)
  await page.keyboard.type('night')
  await expect.poll(() => stores.getByRole('link', { name: 'Quay' }).count()).toBe(0)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Night Market' }).waitFor()
  expect(await stores.count()).toBe(0)

  // A search for everything, by its shortcut. It leads back to where somebody was, or to what was found.
  const { body: all } = await api.get('/v1/user/store', { as: owner.token })
  const quay = all.data.find(({ name }: { name: string }) => name === 'Quay')
  await api.post(`/v1/user/store/${quay.id}/keys`, { ...NEW_KEY, name: 'Warehouse scanner' }, { as: owner.token })
  const search = page.getByRole('combobox', { name: /^Search pages/ })
  await page.getByRole('button', { name: /^Switch store/ }).focus()
  await page.keyboard.press('Control+k')
  await search.waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toMatch(/^Switch store/)
  await page.keyboard.press('Control+k')
  await search.fill('quay')
  await expect.poll(() => page.getByRole('option').allTextContents()).toEqual(['Quay'])
  await search.press('Enter')
  await page.getByRole('heading', { name: 'Quay' }).waitFor()
  await page.getByRole('button', { name: 'Search' }).click()
  await search.fill('scanner')
  await page.getByRole('option', { name: 'Warehouse scanner' }).waitFor()
  await search.press('Enter')
  await page.getByRole('heading', { name: 'Warehouse scanner' }).waitFor()
})
