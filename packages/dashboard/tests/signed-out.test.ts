// Signing out in one tab is meant for all of them: whoever sits at the browser next sees nothing of the person who left.

import { expect } from 'vitest'
import { shop } from '../../../tests/shop.ts'
import { browserTest, everythingIn, forgive, LOST_ANSWER, openBrowser } from './browser.ts'
import { alicesPage, customer, fillSignIn, pageOf, signOutByMenu, signOutElsewhere } from './flows.ts'

const TYPED = 'Private words'

browserTest('a secret that is shown is gone when its reader signs out in another tab', async () => {
  const world = await shop()
  const { owner, store } = world
  const { page, faults } = await openBrowser(world, `/stores/${store.id}/keys/new`, { as: owner })
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Checkout')
  await page.getByRole('checkbox', { name: 'READ' }).check()
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = (await page.getByTestId('secret').textContent()) as string
  await signOutElsewhere(page)
  await page.waitForURL('**/sign-in**')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await everythingIn(page)).not.toContain(secret)
  forgive(faults, '401 GET /v1/user', LOST_ANSWER)
})

browserTest('a page on which nothing was typed is gone when its reader signs out in another tab', async () => {
  const { page, faults, alice } = await alicesPage(() => '/account')
  await page.getByText(alice.email).first().waitFor()
  const tab = await signOutElsewhere(page)
  await page.waitForURL('**/sign-in**')
  expect(await everythingIn(page)).not.toContain(alice.email)
  // Whoever signs in there is signed in here.
  await fillSignIn(tab, alice)
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
  await pageOf(page, 'Alice')
  expect(new URL(page.url()).pathname).toBe('/account')
  forgive(faults, '401 GET /v1/user', LOST_ANSWER)
})

browserTest('what was typed is covered after signing out in another tab, and given up with the sign-in', async () => {
  const { page, faults } = await alicesPage(() => '/account')
  const asked: string[] = []
  page.on('dialog', (dialog) => {
    asked.push(dialog.type())
    void dialog.accept()
  })
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signOutElsewhere(page)
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.waitFor()
  const drawn = `[...document.body.children].filter((one) => getComputedStyle(one).display !== 'none').length`
  expect(await page.evaluate(drawn)).toBe(1)
  expect(await page.title()).toBe('Sign in')
  expect(await page.getByRole('textbox', { name: 'Name' }).count()).toBe(0)
  expect(await page.locator('body').ariaSnapshot()).not.toContain('Account')
  await page.keyboard.press('Escape')
  await overlay.getByRole('button', { name: 'Close' }).click()
  await page.waitForURL('**/sign-in')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await everythingIn(page)).not.toContain(TYPED)
  expect(asked).toEqual([])
  forgive(faults, '401 GET /v1/user', LOST_ANSWER)
})

browserTest('above what is covered nothing names its user, who signs in by typing their e-mail', async () => {
  const { page, faults, alice } = await alicesPage(() => '/stores')
  await page.getByRole('heading', { name: 'Stores', level: 1 }).waitFor()
  const before = await page.title()
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Account' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signOutElsewhere(page)
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.waitFor()
  expect(await overlay.getByLabel('E-mail').inputValue()).toBe('')
  expect(await page.locator('body').ariaSnapshot()).not.toContain(alice.email)
  // The page of before is drawn below the cover, and its title waits there too.
  await page.goBack()
  await page.locator('h1', { hasText: 'Stores' }).waitFor({ state: 'attached' })
  expect(await page.title()).toBe('Sign in')
  await fillSignIn(page, alice)
  await overlay.getByRole('button', { name: 'Sign in', exact: true }).click()
  await expect.poll(() => overlay.count()).toBe(0)
  expect(await page.title()).toBe(before)
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

browserTest('a form that asks for a new sign-in drops the e-mail when its user signs out in another tab', async () => {
  const { page, context, faults, alice, world } = await alicesPage(() => '/account')
  const tab = await context.newPage()
  await tab.goto('/stores')
  await pageOf(tab, 'Alice')
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await world.sql('delete from sessions where user_id = $1', [alice.id])
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  const email = page.getByRole('dialog', { name: 'Sign in again' }).getByLabel('E-mail')
  await expect.poll(() => email.inputValue()).toBe(alice.email)
  await signOutByMenu(tab)
  await expect.poll(() => email.inputValue()).toBe('')
  forgive(faults, /^answer: 401 /, LOST_ANSWER)
})

browserTest('the way back from a page that is covered ends at a page that can be seen', async () => {
  const world = await shop()
  const { page, faults } = await openBrowser(world, '/reset')
  await page.getByRole('link', { name: 'Back to sign-in' }).click()
  await fillSignIn(page, await customer(world, 'Alice'))
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Account' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await signOutElsewhere(page)
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
  await page.evaluate('history.go(-2)')
  await page.getByRole('heading', { name: 'Set a new password' }).waitFor()
  expect(await everythingIn(page)).not.toContain(TYPED)
  forgive(faults, /^answer: 401 GET /, LOST_ANSWER)
})

browserTest('a session that has ended leaves no way back to the page but to sign in', async () => {
  const { page, faults, alice, world } = await alicesPage(() => '/account')
  await page.getByRole('textbox', { name: 'Name' }).fill(TYPED)
  await world.sql('delete from sessions where user_id = $1', [alice.id])
  await page.getByRole('region', { name: 'Your name' }).getByRole('button', { name: 'Save' }).click()
  const overlay = page.getByRole('dialog', { name: 'Sign in again' })
  await overlay.waitFor()
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  expect(await overlay.count()).toBe(1)
  await overlay.getByRole('button', { name: 'Close' }).click()
  await page.waitForURL('**/sign-in')
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect(await everythingIn(page)).not.toContain(TYPED)
  forgive(faults, /^answer: 401 /, LOST_ANSWER)
})
