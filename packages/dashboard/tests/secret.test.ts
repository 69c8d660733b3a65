import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, forgetRefusals, openBrowser, signIn } from './browser.ts'

async function fillForm(page: Page, name: string): Promise<void> {
  page.on('dialog', (dialog) => void dialog.accept())
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await page.getByRole('checkbox', { name: 'READ' }).check()
}

const secretOf = (page: Page) => page.getByTestId('secret').textContent()
const showAgain = (page: Page) => page.getByRole('button', { name: /^Show it again/ }).click()

browserTest('a secret that was not confirmed survives Esc, the way back and a reload', async () => {
  const world = await shop()
  const { page } = await openBrowser(world, `/stores/${world.store.id}/keys`, { as: world.owner })
  await page.getByRole('link', { name: 'Create the first key' }).click()
  await fillForm(page, 'Checkout')
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = await secretOf(page)
  await page.keyboard.press('Escape')
  await page.getByText('You created the key “Checkout”').waitFor()
  expect(await page.getByTestId('secret').count()).toBe(0)

  await showAgain(page)
  expect(await secretOf(page)).toBe(secret)
  await page.reload()
  await showAgain(page)
  expect(await secretOf(page)).toBe(secret)
  await page.goBack()
  await page.keyboard.press('Escape')
  await showAgain(page)
  expect(await secretOf(page)).toBe(secret)
})

browserTest('a secret whose answer was lost is asked for again, and the key is made once', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await fillForm(page, 'Checkout')
  // The service has made the key and answered; the answer never arrives.
  await page.route(`**${keys}`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('No answer came.').waitFor()
  await page.unroute(`**${keys}`)
  await page.getByRole('button', { name: 'Try again' }).click()
  const secret = await secretOf(page)
  const listed = (await api.get(keys, { as: owner.token })).body.data
  expect(listed).toHaveLength(1)
  expect(secret?.startsWith(listed[0].start)).toBe(true)
  forgetRefusals(faults)
})

browserTest('a session that ends while somebody types loses nothing, and the call is repeated as it was', async () => {
  const world = await shop()
  const { api, owner, keys, store } = world
  const { page, context, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await fillForm(page, 'Checkout')
  const sent: (string | undefined)[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith(keys)) sent.push(request.headers()['idempotency-key'])
  })
  await world.sql('delete from sessions where user_id = $1', [owner.id])
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Your session has ended.').waitFor()
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.locator('input[name=password]').fill(owner.password)
  await overlay.getByRole('button', { name: 'Sign in', exact: true }).click()
  const secret = await secretOf(page)
  expect(sent).toHaveLength(2)
  expect(sent[0]).toBe(sent[1])
  expect(sent[0]).toMatch(/./)

  // In a new session the service does not show it again, and the page says what is left to do.
  const signedIn = await api.post('/v1/auth/sign-in', { email: owner.email, password: owner.password })
  await signIn(context, api.url, signedIn.body)
  await page.reload()
  await showAgain(page)
  await page.getByText('it can no longer be shown').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  const listed = (await api.get(keys, { as: signedIn.body.token })).body.data
  expect(listed).toHaveLength(1)
  expect(secret?.startsWith(listed[0].start)).toBe(true)
  forgetRefusals(faults)
})

browserTest('where a page may not copy, the secret is selected instead, and says so', async () => {
  const world = await shop()
  const { page, context } = await openBrowser(world, `/stores/${world.store.id}/keys`, { as: world.owner })
  await context.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
  await page.goto(`/stores/${world.store.id}/keys/new`)
  await fillForm(page, 'Checkout')
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = await secretOf(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByText('Your browser does not let this page copy.').waitFor()
  expect(await page.evaluate('getSelection()?.toString()')).toBe(secret)
  expect(await page.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true)
  await page.getByRole('checkbox', { name: 'I have saved it' }).check()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { name: 'Checkout', level: 1 }).waitFor()
})
