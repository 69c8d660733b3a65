import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { accessibilityFaults, browserTest, openBrowser } from './browser.ts'

browserTest('keys are found as one types, filtered, and switched off together', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  for (const [name, permissions] of [
    ['Checkout', ['READ']],
    ['Warehouse', ['WRITE']],
  ] as const)
    await api.post(keys, { name, type: 'TEST', permissions }, { as: owner.token })
  const { page } = await openBrowser(world, `/stores/${store.id}/keys`, { as: owner })
  await page.getByRole('link', { name: 'Warehouse' }).waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByRole('textbox', { name: 'Search keys' }).fill('checkout')
  await expect.poll(() => page.getByRole('link', { name: 'Warehouse' }).count()).toBe(0)
  await page.getByRole('checkbox', { name: 'Choose Checkout' }).check()
  await page.getByRole('button', { name: 'Switch off' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Checkout').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Switch off' }).click()
  await dialog.getByText('1 done.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByText('DISABLED').waitFor()
})
