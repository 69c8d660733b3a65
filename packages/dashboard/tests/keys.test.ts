import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, forgive, openBrowser } from './browser.ts'
import { expectAccessible } from './looks.ts'

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
  await expectAccessible(page)
  await page.getByRole('textbox', { name: 'Search keys' }).fill('checkout')
  await expect.poll(() => page.getByRole('link', { name: 'Warehouse' }).count()).toBe(0)
  await page.getByRole('checkbox', { name: 'Choose Checkout' }).check()
  await page.getByRole('button', { name: 'Switch off' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Checkout').waitFor()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Switch off' }).click()
  await dialog.getByText('1 done.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByText('DISABLED').waitFor()
})

browserTest('keys that were revoked together leave the list, and the answer stays until it was read', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  for (const name of ['Checkout', 'Warehouse'])
    await api.post(keys, { name, type: 'TEST', permissions: ['READ'] }, { as: owner.token })
  const { page } = await openBrowser(world, `/stores/${store.id}/keys`, { as: owner })
  await page.getByRole('checkbox', { name: 'Choose all keys shown' }).check()
  await page.getByRole('button', { name: 'Revoke' }).click()
  const dialog = page.getByRole('dialog', { name: 'Revoke 2 keys' })
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('No keys in use').waitFor()
  await dialog.getByText('2 done.').waitFor()
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Done')
  await page.keyboard.press('Enter')
  await expect.poll(() => dialog.count()).toBe(0)
})

browserTest('a fault is brought into view, also in a part of the form that was closed', async () => {
  const world = await shop()
  const { page, faults } = await openBrowser(world, `/stores/${world.store.id}/keys/new`, { as: world.owner })
  await page.getByRole('textbox', { name: 'Name' }).fill('Checkout')
  const section = page.getByRole('button', { name: 'IP addresses' })
  await section.click()
  const field = page.getByRole('textbox', { name: 'Allowed IP addresses' })
  await field.fill('10.0.0.1\nnot-an-ip')
  await section.click()
  await page.getByRole('button', { name: 'Create key' }).click()
  // Nothing is allowed to a key without permissions: that comes first.
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Choose at least one permission.')
  await page.getByRole('checkbox', { name: 'READ' }).check()
  await page.getByRole('button', { name: 'Create key' }).click()
  await expect.poll(() => page.evaluate('document.activeElement.value')).toBe('10.0.0.1\nnot-an-ip')
  expect(await section.getAttribute('aria-expanded')).toBe('true')
  await expectAccessible(page)
  await field.fill('10.0.0.1')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByTestId('secret').waitFor()
  forgive(faults, '422 POST /v1/user/store/*/keys')
})

browserTest('the command that creates a key names no store but one of the reader', async () => {
  const world = await shop()
  const { owner, store } = world
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await page.getByText(`curl -X POST '${world.api.url}/v1/user/store/${store.id}/keys'`).waitFor()
  await page.goto(`/stores/${store.id}';touch%20here;'/keys/new`)
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  expect(await page.locator('main').innerText()).not.toContain('touch')
  forgive(faults, /^answer: 40[04] GET /)
})
